"""The words room: what a project's tables, columns and words mean, to look up, to change and to bring in from a file;
what a word means here, and who says so; and definitions that wait for somebody's approval.

Whoever may see the project's terms may look; who may change them is asked for every act.
"""

from __future__ import annotations

from collections.abc import Mapping

from starlette.datastructures import UploadFile
from starlette.responses import Response

from recollect.doors.console.memory_acts import project_scope
from recollect.doors.console.memory_shapes import whole_number
from recollect.doors.console.render import back, page
from recollect.doors.console.serving import done, shown
from recollect.doors.console.terms_shapes import EXAMPLE, TITLES, Says, as_kind, chain, grouped, with_said
from recollect.doors.console.visit import Visit
from recollect.errors import InvalidInput, NotFound
from recollect.model.memory import Memory
from recollect.model.ontology import MAX_TERMS, Term, TermKind
from recollect.model.resolution import Resolution

SHOWN = 30  # terms at first; each "more" adds as many
WAITING = 50
FILE_BYTES = 5_000_000
EMPTY = {"name": "", "kind": "glossary", "description": "", "synonyms": "", "sql": ""}


async def terms_page(visit: Visit) -> Response:
    return await words_page(visit, EMPTY, "")


async def words_page(visit: Visit, typed: Mapping[str, str], problem: str) -> Response:
    """`typed` is what stands in the form that adds; `problem` why it was not taken."""
    search, kind, word = visit.asked("q").strip(), visit.asked("kind"), visit.asked("word").strip()
    most = min(whole_number("shown", visit.asked("shown"), SHOWN), MAX_TERMS - 1) or SHOWN
    found = await visit.engine.terms(
        visit.scope("terms"), search or None, kind=as_kind(kind) if kind else None, limit=most + 1
    )
    values = {
        "search": search,
        "kind": kind,
        "word": word,
        "titles": TITLES,
        "groups": grouped(found[:most]),
        "more": most + SHOWN if len(found) > most else None,
        "resolved": await resolved(visit, word),
        "waiting": await waiting(visit),
        "typed": typed,
        "problem": problem,
        "example": EXAMPLE,
        "is_example": bool(visit.asked("example")),
    }
    return page(visit, "terms.html", values, 400 if problem else 200)


async def resolved(visit: Visit, word: str) -> tuple[Resolution, list[Says]] | None:
    if not word:
        return None
    found = await visit.engine.resolve(visit.scope("resolve"), word)
    return found, chain(found)


async def waiting(visit: Visit) -> list[Memory]:
    """The project's definitions that nobody has approved yet."""
    return await visit.engine.memories(
        visit.scope("memories_project"),
        kinds=("definition", "terminology"),
        status=("pending",),
        owner="project",
        limit=WAITING,
    )


async def add(visit: Visit) -> Response:
    typed = {name: visit.said(name, "") for name in EMPTY}
    scope = project_scope(visit, "put_term")
    try:
        await must_be_new(visit, typed)
        made = await visit.engine.put_term(scope, with_said(Term(typed["name"], as_kind(typed["kind"])), typed))
    except InvalidInput as error:  # the page keeps what was typed
        return await words_page(visit, typed, str(error))
    return back("terms", q=made.name, kind=made.kind, told="saved")


async def must_be_new(visit: Visit, typed: Mapping[str, str]) -> None:
    if typed["name"].strip() and await term_named(visit, typed["name"].strip(), as_kind(typed["kind"])):
        raise InvalidInput("term.name", f"{typed['name'].strip()!r} is there already; search for it and change it")


async def change(visit: Visit) -> Response:
    """Its definition, synonyms and SQL; what else is known of it stays."""
    kind, scope = as_kind(visit.said("kind")), project_scope(visit, "put_term")
    known = await term_named(visit, visit.said("name"), kind)
    if known is None:
        raise NotFound(f"{visit.said('name')!r} is not there any more")
    typed = {name: visit.said(name, "") for name in ("description", "synonyms", "sql")}
    await visit.engine.put_term(scope, with_said(known, typed))
    return back("terms", q=visit.said("q", ""), kind=visit.said("of", ""), told="saved")


async def term_named(visit: Visit, name: str, kind: TermKind) -> Term | None:
    found = await visit.engine.terms(visit.scope("terms"), name, kind=kind, limit=SHOWN)
    return next((term for term in found if term.name == name), None)


async def drop(visit: Visit) -> Response:
    await visit.engine.drop_term(
        project_scope(visit, "drop_term"), visit.said("name"), kind=as_kind(visit.said("kind"))
    )
    return back("terms", q=visit.said("q", ""), kind=visit.said("of", ""), told="dropped")


async def bring_in(visit: Visit) -> Response:
    """A file, or the text of one. Again it changes nothing, so the answer is the page itself."""
    scope = project_scope(visit, "import_ontology")
    report = await visit.engine.import_ontology(scope, await source_said(visit), replace=visit.ticked("replace"))
    return page(visit, "terms_imported.html", {"report": report})


async def source_said(visit: Visit) -> str:
    file = visit.form.get("file") if visit.form else None
    if not isinstance(file, UploadFile) or not file.filename:
        return visit.said("source", "")
    content = await file.read(FILE_BYTES + 1)
    if len(content) > FILE_BYTES:
        raise InvalidInput("file", f"is larger than {FILE_BYTES // 1_000_000} MB")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise InvalidInput("file", "is not a text in UTF-8; save it as YAML or JSON") from None


routes = (
    shown("/terms", terms_page),
    done("/terms/add", add),
    done("/terms/change", change),
    done("/terms/drop", drop),
    done("/terms/import", bring_in, most_files=1),
)
