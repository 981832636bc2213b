"""Teaching from the ask room: what a word means, a statement put right, right or wrong, an example for the project.
hosts/sql/teaching.py learns it, under the permissions that the same has over HTTP; then a page shows what was learned.
Its address has ids only."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from starlette.responses import RedirectResponse, Response

from recollect.doors.console.ask_past import room_page, wish
from recollect.doors.console.render import HEADERS, link
from recollect.doors.console.visit import Visit
from recollect.doors.http.repeats import found
from recollect.errors import InvalidInput
from recollect.hosts.sql import teaching
from recollect.model.lesson import Owner
from recollect.model.memory import Memory
from recollect.sql.change import Change, Correction

MOST = 20  # lessons of one correction
CHANGES = {
    "table_substitution": "another table",
    "column_substitution": "another column",
    "filter_addition": "a condition more",
    "filter_removal": "a condition less",
    "filter_change": "another condition",
    "aggregation": "another figure",
    "grouping": "another grouping",
    "grain": "another unit of time",
    "join": "other tables joined",
    "order": "another order",
    "limit": "another number of rows",
    "projection": "other columns",
}


async def clarified(visit: Visit) -> tuple[Memory, Owner]:
    """A suggestion that was clicked, or somebody's own words; and whose it is, by its wording."""
    term, answer, shares = visit.said("term"), visit.said("answer").strip(), visit.caller.may("learn_project")
    if not answer:
        raise InvalidInput("answer", "say what it means, or choose one of the suggestions")
    scope, source = visit.scope("learn"), wish(visit).source or None
    learned = await teaching.clarify(
        visit.analyst, scope, source, term, answer, visit.said("question"), may_share=shares
    )
    return learned, teaching.owner_of(term, answer, may_share=shares)


async def correct(visit: Visit) -> Response:
    """What the difference between two statements says."""
    scope, role = visit.scope("learn"), visit.caller.identity.role
    generated, corrected = visit.said("sql"), visit.said("corrected").strip()
    done = await teaching.correct(
        visit.analyst, scope, wish(visit).source, role, visit.said("question"), generated, corrected
    )
    return to_taught(visit, done.memories)


async def rate(visit: Visit) -> Response:
    scope, role = visit.scope("learn"), visit.caller.identity.role
    good = visit.said("good") == "yes"
    rated = await teaching.rate(
        visit.analyst, scope, wish(visit).source, role, visit.said("question"), visit.said("sql"), good=good
    )
    return to_taught(visit, [rated])


async def example(visit: Visit) -> Response:
    """An example for the whole project: proposed by those who may teach it, approved at once by those who keep it."""
    scope = visit.scope("learn_project")
    made = await teaching.propose(
        visit.analyst, scope, wish(visit).source, visit.said("question").strip(), visit.said("sql")
    )
    if made.status == "pending" and visit.may("change_project"):
        made = await teaching.approve(visit.analyst, visit.scope("change_project"), made, good=True)
    return to_taught(visit, [made], "project")


def to_taught(visit: Visit, learned: Sequence[Memory], owner: Owner = "user") -> Response:
    about = wish(visit)
    query = [("source", about.source), ("session", about.session), ("owner", owner)]
    ids = [("id", str(each.id)) for each in learned[:MOST]]
    return RedirectResponse(f"{link('ask/taught')}?{urlencode([*query, *ids])}", 303, HEADERS)


async def taught(visit: Visit) -> Response:
    """What was learned from what somebody did to an answer."""
    about, wanted = wish(visit), visit.request.query_params.getlist("id")[:MOST]
    owner: Owner = "project" if visit.asked("owner") == "project" else "user"
    scope = visit.scope("memories" if owner == "user" else "memories_project")
    learned = [await found(visit.engine, scope, owner, each) for each in wanted]
    changes = await differences(visit, about.source, learned)
    values = {"about": about, "owner": owner, "learned": learned, "changes": changes, "names": CHANGES}
    return room_page(visit, "ask_taught.html", values)


async def differences(visit: Visit, source: str, learned: Sequence[Memory]) -> Sequence[Change]:
    """What was changed in a statement, read once more from the pair that was kept."""
    pair = next((each.data or {} for each in learned if each.kind == "correction"), None)
    if not pair or not source:
        return ()
    shelf = await visit.analyst.library.find(visit.scope("data_sources"), source)
    kept = (str(pair.get(name) or "") for name in ("original_query", "generated_sql", "corrected_sql"))
    told: Correction = teaching.difference(shelf, *kept)
    return told.changes
