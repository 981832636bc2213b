"""The glossary page: what a project's tables, columns and terms mean; search, add, change, remove and import them; look
up what a term means to the user; approve proposed definitions. Each change checks its own permission."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from starlette.responses import Response

from recollect.errors import InvalidInput, NotFound
from recollect.server.console.handlers import Pages, Values
from recollect.server.console.render import redirect, render_page
from recollect.server.console.visit import Visit
from recollect.values.term import MAX_TERMS, Term, TermKind

pages = Pages()
PAGE_TERMS = 30  # each "Show more" adds as many
MAX_PENDING = 50
MAX_FILE_BYTES = 5_000_000
EMPTY_FORM = {"name": "", "kind": "glossary", "description": "", "synonyms": "", "sql": ""}


@pages.get("/terms", "glossary.html")
async def render_glossary(
    visit: Visit,
    q: str = "",
    kind: Literal[TermKind, ""] = "",
    word: str = "",
    shown: int = PAGE_TERMS,
    *,
    typed: Mapping[str, str] = EMPTY_FORM,
    problem: str = "",
) -> Response:
    """Return the page. `typed` fills the form that adds a term; `problem` says why it was refused."""
    search, word, limit = q.strip(), word.strip(), min(shown, MAX_TERMS - 1) or PAGE_TERMS
    terms = await load_terms(visit, search, kind or None, limit + 1)
    pending = await visit.engine.memories(
        visit.scope("memories_project"),
        kinds=("definition", "terminology"),
        status=("pending",),
        owner="project",
        limit=MAX_PENDING,
    )
    values = {
        "search": search,
        "kind": kind,
        "word": word,
        "terms": terms[:limit],
        "more": limit + PAGE_TERMS if len(terms) > limit else None,
        "resolution": await visit.engine.resolve(visit.scope("resolve"), word) if word else None,
        "pending": pending,
        "typed": typed,
        "problem": problem,
    }
    return render_page(visit, "glossary.html", values, 400 if problem else 200)


async def load_terms(visit: Visit, search: str, kind: TermKind | None, limit: int) -> list[Term]:
    """Return the terms that match. If all are wanted, what people defined comes before what the schemas say."""
    scope = visit.scope("terms")
    terms = await visit.engine.terms.find(scope, search or None, kind=kind, limit=limit)
    if search or kind:
        return terms
    defined = await visit.engine.terms.find(scope, kind="glossary", limit=limit)
    return [*defined, *(term for term in terms if term.kind != "glossary")][:limit]


async def find_term(visit: Visit, name: str, kind: TermKind) -> Term | None:
    terms = await visit.engine.terms.find(visit.scope("terms"), name, kind=kind, limit=PAGE_TERMS)
    return next((term for term in terms if term.name == name), None)


def fill_term(term: Term, description: str, synonyms: str, sql: str) -> Term:
    """Return the term with the definition, synonyms (one per line) and SQL of a form."""
    lines = tuple(filter(None, (line.strip() for line in synonyms.splitlines())))
    return replace(term, description=description.strip(), synonyms=lines, sql=sql.strip() or None)


@pages.post("/terms/add")
async def add_term(
    visit: Visit, kind: TermKind, name: str = "", description: str = "", synonyms: str = "", sql: str = ""
) -> Response:
    typed = {"name": name, "kind": kind, "description": description, "synonyms": synonyms, "sql": sql}
    scope = visit.project_scope("put_term")
    try:
        if name.strip() and await find_term(visit, name.strip(), kind):
            raise InvalidInput("name", f"{name.strip()!r} already exists; search for it and change it")
        term = await visit.engine.terms.put(scope, fill_term(Term(name, kind), description, synonyms, sql))
    except InvalidInput as error:  # show the form again with what was typed
        return await render_glossary(visit, typed=typed, problem=visit.explain(error))
    return redirect("terms", q=term.name, kind=term.kind, notice="saved")


@pages.post("/terms/change")
async def change_term(
    visit: Visit,
    name: str,
    kind: TermKind,
    description: str = "",
    synonyms: str = "",
    sql: str = "",
    q: str = "",
    of: str = "",
) -> Response:
    """Change the definition, synonyms and SQL of a term; its other data stays. `q` and `of` filter the list."""
    scope = visit.project_scope("put_term")
    term = await find_term(visit, name, kind)
    if term is None:
        raise NotFound(f"The term {name!r} no longer exists.")
    await visit.engine.terms.put(scope, fill_term(term, description, synonyms, sql))
    return redirect("terms", q=q, kind=of, notice="saved")


@pages.post("/terms/drop")
async def remove_term(visit: Visit, name: str, kind: TermKind, q: str = "", of: str = "") -> Response:
    await visit.engine.terms.drop(visit.project_scope("drop_term"), name, kind=kind)
    return redirect("terms", q=q, kind=of, notice="dropped")


@pages.post("/terms/import", "glossary_imported.html", files=1)
async def import_terms(visit: Visit, replace: bool, source: str = "") -> Values:
    """Import a file or its text. Reloading the answer imports it again, which changes nothing."""
    scope = visit.project_scope("import_ontology")
    for file in visit.files("file"):
        content = await file.read(MAX_FILE_BYTES + 1)
        if len(content) > MAX_FILE_BYTES:
            raise InvalidInput("file", f"is larger than {MAX_FILE_BYTES // 1_000_000} MB")
        try:
            source = content.decode()
        except UnicodeDecodeError:
            raise InvalidInput("file", "is not UTF-8 text; save it as YAML or JSON") from None
    return {"report": await visit.engine.terms.load(scope, source, replace=replace)}
