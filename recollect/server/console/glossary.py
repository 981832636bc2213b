"""The glossary page: what a project's tables, columns and terms mean; search, add, change, remove and import them; look
up what a term means to the user; approve proposed definitions. Each change checks its own permission."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from starlette.responses import Response

from recollect.errors import InvalidInput, NotFound
from recollect.server.console.render import redirect, render_page
from recollect.server.console.visit import Visit, parse_choice, parse_number
from recollect.values.term import KINDS, MAX_TERMS, Term, TermKind

PAGE_TERMS = 30  # each "Show more" adds as many
MAX_PENDING = 50
MAX_FILE_BYTES = 5_000_000
EMPTY_FORM = {"name": "", "kind": "glossary", "description": "", "synonyms": "", "sql": ""}


async def render_glossary(visit: Visit, typed: Mapping[str, str] = EMPTY_FORM, problem: str = "") -> Response:
    """Return the page. `typed` fills the form that adds a term; `problem` says why it was refused."""
    search, kind, word = visit.query("q").strip(), visit.query("kind"), visit.query("word").strip()
    limit = min(parse_number("shown", visit.query("shown"), PAGE_TERMS), MAX_TERMS - 1) or PAGE_TERMS
    terms = await load_terms(visit, search, kind, limit + 1)
    resolution = await visit.engine.resolve(visit.scope("resolve"), word) if word else None
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
        "resolution": resolution,
        "pending": pending,
        "typed": typed,
        "problem": problem,
        "is_example": bool(visit.query("example")),
    }
    return render_page(visit, "glossary.html", values, 400 if problem else 200)


async def load_terms(visit: Visit, search: str, kind: str, limit: int) -> list[Term]:
    """Return the terms that match. If all are wanted, what people defined comes before what the schemas say."""
    scope, chosen = visit.scope("terms"), parse_choice("kind", kind, KINDS) if kind else None
    terms = await visit.engine.terms.find(scope, search or None, kind=chosen, limit=limit)
    if search or kind:
        return terms
    defined = await visit.engine.terms.find(scope, kind="glossary", limit=limit)
    return [*defined, *(term for term in terms if term.kind != "glossary")][:limit]


async def find_term(visit: Visit, name: str, kind: TermKind) -> Term | None:
    terms = await visit.engine.terms.find(visit.scope("terms"), name, kind=kind, limit=PAGE_TERMS)
    return next((term for term in terms if term.name == name), None)


def fill_term(term: Term, typed: Mapping[str, str]) -> Term:
    """Return the term with the definition, synonyms (one per line) and SQL of a form."""
    synonyms = tuple(filter(None, (line.strip() for line in typed["synonyms"].splitlines())))
    return replace(term, description=typed["description"].strip(), synonyms=synonyms, sql=typed["sql"].strip() or None)


async def add_term(visit: Visit) -> Response:
    typed = {name: visit.field(name, "") for name in EMPTY_FORM}
    scope, name = visit.project_scope("put_term"), typed["name"].strip()
    try:
        kind = parse_choice("kind", typed["kind"], KINDS)
        if name and await find_term(visit, name, kind):
            raise InvalidInput("name", f"{name!r} already exists; search for it and change it")
        term = await visit.engine.terms.put(scope, fill_term(Term(typed["name"], kind), typed))
    except InvalidInput as error:  # show the form again with what was typed
        return await render_glossary(visit, typed, visit.explain(error))
    return redirect("terms", q=term.name, kind=term.kind, notice="saved")


async def change_term(visit: Visit) -> Response:
    """Change the definition, synonyms and SQL of a term; its other data stays."""
    kind, scope = parse_choice("kind", visit.field("kind"), KINDS), visit.project_scope("put_term")
    term = await find_term(visit, visit.field("name"), kind)
    if term is None:
        raise NotFound(f"The term {visit.field('name')!r} no longer exists.")
    typed = {name: visit.field(name, "") for name in ("description", "synonyms", "sql")}
    await visit.engine.terms.put(scope, fill_term(term, typed))
    return redirect("terms", q=visit.field("q", ""), kind=visit.field("of", ""), notice="saved")


async def remove_term(visit: Visit) -> Response:
    scope, kind = visit.project_scope("drop_term"), parse_choice("kind", visit.field("kind"), KINDS)
    await visit.engine.terms.drop(scope, visit.field("name"), kind=kind)
    return redirect("terms", q=visit.field("q", ""), kind=visit.field("of", ""), notice="dropped")


async def import_terms(visit: Visit) -> Response:
    """Import a file or its text. Reloading the answer imports it again, which changes nothing."""
    scope = visit.project_scope("import_ontology")
    report = await visit.engine.terms.load(scope, await read_import(visit), replace=visit.is_checked("replace"))
    return render_page(visit, "glossary_imported.html", {"report": report})


async def read_import(visit: Visit) -> str:
    if not (files := visit.files("file")):
        return visit.field("source", "")
    content = await files[0].read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise InvalidInput("file", f"is larger than {MAX_FILE_BYTES // 1_000_000} MB")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise InvalidInput("file", "is not UTF-8 text; save it as YAML or JSON") from None


GET_ROUTES = {"/terms": render_glossary}
POST_ROUTES = {
    "/terms/add": add_term,
    "/terms/change": change_term,
    "/terms/drop": remove_term,
    "/terms/import": import_terms,
}
