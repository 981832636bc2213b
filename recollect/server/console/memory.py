"""The memory page: what is known about the user and shared in the project, the history of each memory, a recall test,
summaries, and what was not remembered."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from functools import partial
from typing import cast, get_args

from starlette.responses import Response

from recollect.errors import InvalidInput, NotFound
from recollect.server.console.render import link, redirect_back, render_page
from recollect.server.console.visit import Visit, parse_choice, parse_number
from recollect.values.conversation import Turn
from recollect.values.identity import Action
from recollect.values.lesson import IMPORTANCE, Lesson, Owner
from recollect.values.memory import ALWAYS_ON, Memory, MemoryKind, Status, list_versions
from recollect.values.query import Context, Query, Reach
from recollect.values.scope import Scope

CURRENT: tuple[Status, ...] = ("active", "pending")
STATUSES: Mapping[str, Sequence[Status] | None] = {  # by their name in the address
    "": CURRENT,
    "pending": ("pending",),
    "ended": ("superseded", "retracted"),
    "all": None,
}


@dataclass(frozen=True, slots=True)
class History:
    """The values a memory had, newest first. `related` have the same key but are independent, as notes are."""

    memory: Memory
    values: Sequence[Memory]
    related: Sequence[Memory]

    @property
    def current(self) -> Memory:
        return next((each for each in self.values if each.status in CURRENT), self.memory)


def build_history(memory: Memory, same_key: Sequence[Memory]) -> History:
    versions = list_versions(memory, same_key)
    others = [each for each in same_key if each not in versions and each.kind == memory.kind]
    return History(memory, versions[::-1], sorted(others, key=lambda each: (each.valid_from, each.id), reverse=True))


def parse_end_of_day(field: str, text: str) -> datetime | None:
    """Return the last moment of a day; None for an empty field."""
    if not text.strip():
        return None
    try:
        return datetime.combine(date.fromisoformat(text.strip()), time.max, UTC)
    except ValueError:
        raise InvalidInput(field, f"must be a date such as 2026-03-31, got {text!r}") from None


OWNERS: tuple[Owner, ...] = ("user", "project")
PAGE_MEMORIES = 25
MAX_COUNTED = 1_000  # memories that are counted by kind
MAX_QUOTES = 5
PAGE_EPISODES = 20
MAX_EPISODES = 1_000
MAX_SESSIONS = 50
BUDGET = 2000
SHOWN_HITS = 10
NOT_ALWAYS_ON = ALWAYS_ON - 0.1  # importance of a memory that is used only where it is relevant
EXAMPLES: Sequence[dict[str, str]] = (
    {"kind": "identity", "key": "location", "value": "Porto"},
    {"kind": "definition", "key": "active customer", "value": "logged in within the last 30 days"},
    {"kind": "instruction", "key": "answers", "value": "Answer with a table where there are more than three numbers."},
)
EMPTY_FORM = {"kind": "note", "key": "", "value": "", "owner": "user", "always": "on"}


# The list -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Filters:
    """The filters of the list, as in the address."""

    owner: Owner
    kind: str = ""
    status: str = ""
    as_of: str = ""

    @property
    def kinds(self) -> Sequence[MemoryKind] | None:
        return [cast("MemoryKind", self.kind)] if self.kind else None

    @property
    def statuses(self) -> Sequence[Status] | None:
        return STATUSES[self.status]

    @property
    def moment(self) -> datetime | None:
        return parse_end_of_day("as_of", self.as_of)

    def link(self, **changes: str) -> str:
        """Return the address of this list with some filters changed."""
        given = {"owner": self.owner, "kind": self.kind, "status": self.status, "as_of": self.as_of} | changes
        return link("memory", **(given | {"owner": "" if given["owner"] == "user" else given["owner"]}))

    @property
    def path(self) -> str:
        """The path for forms that lead back here."""
        return self.link().removeprefix("/console/")


def read_filters(visit: Visit) -> Filters:
    owner, status = parse_choice("owner", visit.query("owner", "user"), OWNERS), visit.query("status")
    if status not in STATUSES:
        raise InvalidInput("status", f"must be one of {', '.join(filter(None, STATUSES))}, got {status!r}")
    return Filters(owner, visit.query("kind"), status, visit.query("as_of"))


async def show_memories(visit: Visit) -> Response:
    number = parse_number("example", visit.query("example"), 0)
    example = EXAMPLES[number - 1] if 0 < number <= len(EXAMPLES) else {}
    return await render_list(visit, read_filters(visit), EMPTY_FORM | example, "")


async def render_list(visit: Visit, filters: Filters, typed: dict[str, str], problem: str) -> Response:
    """Return the list. `typed` fills the form that adds a memory; `problem` says why it was refused."""
    memories = await visit.engine.memories(
        scope_to_read(visit, filters.owner),
        kinds=filters.kinds,
        status=filters.statuses,
        owner=filters.owner,
        as_of=filters.moment,
        limit=PAGE_MEMORIES,
        after=visit.query("after") or None,
    )
    values = {
        "filters": filters,
        "memories": memories,
        "next_page": str(memories[-1].id) if len(memories) == PAGE_MEMORIES else "",
        "is_paged": bool(visit.query("after")),
        "counts": {owner: await count_kinds(visit, filters, owner) for owner in OWNERS},
        "max_counted": MAX_COUNTED,
        "typed": typed,
        "problem": problem,
        "examples": EXAMPLES,
    }
    return render_page(visit, "memory.html", values, 400 if problem else 200)


async def count_kinds(visit: Visit, filters: Filters, owner: Owner) -> dict[str, int]:
    """Return the number of memories of each kind, with all filters but the kind."""
    memories = await visit.engine.memories(
        scope_to_read(visit, owner), status=filters.statuses, owner=owner, as_of=filters.moment, limit=MAX_COUNTED
    )
    counts = Counter(memory.kind for memory in memories)
    return {kind: counts[kind] for kind in get_args(MemoryKind) if counts[kind]}


async def add_memory(visit: Visit) -> Response:
    """Learn what the form says; without a key it is a note."""
    owner = parse_choice("owner", visit.field("owner", "") or "user", OWNERS)
    typed = {name: visit.field(name, "") for name in EMPTY_FORM} | {"owner": owner}
    scope = visit.scope("learn") if owner == "user" else visit.project_scope("learn_project")
    try:
        lesson = Lesson(
            typed["value"],
            typed["key"].strip() or "note",
            cast("MemoryKind", typed["kind"]),
            source="manual",
            owner=owner,
            importance=IMPORTANCE if typed["always"] else NOT_ALWAYS_ON,
        )
        memory = await visit.engine.learn(scope, lesson)
    except InvalidInput as error:  # show the form again with what was typed
        return await render_list(visit, Filters(owner), typed, visit.explain(error))
    notice = "shared" if memory.status == "pending" else "learned"
    return redirect_back(Filters(owner).path, notice, f"memory-{memory.id}")


# One memory -----------------------------------------------------------------------------------------------------------


async def show_memory(visit: Visit) -> Response:
    """Show a memory with all values it had, and the messages it was learned from."""
    owner, memory = await load_memory(visit)
    same_key = await visit.engine.memories(scope_to_read(visit, owner), key=memory.key, status=None, owner=owner)
    history = build_history(memory, same_key)
    list_path = "memory" if owner == "user" else "memory?owner=project"
    if not visit.can("memories"):  # a key without access to user data came from the glossary
        list_path = "terms"
    values = {
        "owner": owner,
        "history": history,
        "quotes": await load_quotes(visit, history.current.refs if owner == "user" else ()),
        "here": link("memory/one", id=memory.id, owner=owner).removeprefix("/console/"),
        "list_path": list_path,
    }
    return render_page(visit, "memory_one.html", values)


async def load_memory(visit: Visit) -> tuple[Owner, Memory]:
    """Return a memory by its id. Without an owner in the address, the user's memories are searched first."""
    owner = visit.query("owner")
    for each in (parse_choice("owner", owner, OWNERS),) if owner else OWNERS:
        with suppress(NotFound):
            return each, await visit.engine.memory(scope_to_read(visit, each), visit.query("id"), owner=each)
    raise NotFound("This memory no longer exists.")


async def load_quotes(visit: Visit, refs: Sequence[str]) -> list[tuple[str, Turn | None]]:
    """Return the messages that refs name; None for those that no longer exist."""
    if not visit.can("history"):
        return []

    async def load(ref: str) -> Turn | None:
        session, _, index = ref.rpartition("#")
        try:
            turns = await visit.engine.history(visit.scope("history", session), limit=1, before=int(index) + 1)
        except NotFound:
            return None
        return turns[0] if turns and turns[0].ref == ref else None

    messages = [ref for ref in refs if ref.rpartition("#")[2].isdecimal()][:MAX_QUOTES]
    return list(zip(messages, await asyncio.gather(*map(load, messages)), strict=True))


# Recall test, summaries, rejections -----------------------------------------------------------------------------------


async def show_search(visit: Visit) -> Response:
    """Show what memory would give for a question.

    It is a real request: nothing is stored or learned, but it counts in the metrics, and memories that match count as
    used.
    """
    sessions = await visit.engine.conversations(visit.scope("context"), limit=MAX_SESSIONS)
    typed = {name: visit.query(name) for name in ("q", "session", "as_of")}
    typed |= {"reach": visit.query("reach", "auto"), "budget": visit.query("budget", str(BUDGET))}
    context: Context | None = None
    problem = ""
    if typed["q"].strip():
        try:
            query = Query(
                typed["q"].strip(),
                cast("Reach", typed["reach"]),
                as_of=parse_end_of_day("as_of", typed["as_of"]),
                budget=parse_number("budget", typed["budget"], BUDGET),
            )
            context = await visit.engine.context(visit.scope("context", typed["session"]), query)
        except InvalidInput as error:  # show the form again with what was typed
            problem = visit.explain(error)
    values = {
        "typed": typed,
        "sessions": sessions,
        "context": context,
        "problem": problem,
        "shown_hits": SHOWN_HITS,
    }
    return render_page(visit, "memory_search.html", values, 400 if problem else 200)


async def show_episodes(visit: Visit) -> Response:
    """Show the summaries of one session or of all, newest first."""
    session, start = visit.query("session"), parse_number("from", visit.query("from"), 0)
    episodes = await visit.engine.episodes(visit.scope("episodes", session), limit=MAX_EPISODES)
    end = start + PAGE_EPISODES
    values = {
        "episodes": episodes[::-1][start:end],
        "count": len(episodes),
        "session": session,
        "start": start,
        "next_page": end if len(episodes) > end else None,
    }
    return render_page(visit, "memory_episodes.html", values)


async def show_rejections(visit: Visit) -> Response:
    counts = await visit.engine.rejections(visit.scope("rejections"))
    return render_page(visit, "memory_not_remembered.html", {"counts": counts})


# Forms that change a memory, on every page that shows one -------------------------------------------------------------


def scope_to_read(visit: Visit, owner: Owner) -> Scope:
    return visit.scope("memories" if owner == "user" else "memories_project")


CHANGES: Mapping[str, tuple[str, Callable[[Visit, Scope, str, Owner], Awaitable[object]]]] = {  # notice, verb
    "correct": (
        "corrected",
        lambda visit, scope, memory, owner: visit.engine.correct(scope, memory, visit.field("value"), owner=owner),
    ),
    "close": ("closed", lambda visit, scope, memory, owner: visit.engine.close(scope, memory, owner=owner)),
    "promote": ("promoted", lambda visit, scope, memory, owner: visit.engine.promote(scope, memory)),
    "approve": ("approved", lambda visit, scope, memory, owner: visit.engine.approve(scope, memory)),
    "reject": ("rejected", lambda visit, scope, memory, owner: visit.engine.reject(scope, memory)),
    "forget": ("forgotten", lambda visit, scope, memory, owner: visit.engine.forget(scope, memory=memory, owner=owner)),
    "redact": ("redacted", lambda visit, scope, memory, owner: visit.engine.redact(scope, memory, owner=owner)),
}
OF_PROJECT = ("correct", "close", "forget")  # also for memories of the project, by callers who may change it


async def change_memory(verb: str, visit: Visit) -> Response:
    """Change a memory, and redirect to the page that had the form, there to the memory if it still exists."""
    owner = parse_choice("owner", visit.field("owner", "") or "user", OWNERS) if verb in OF_PROJECT else "user"
    scope = visit.scope(cast("Action", verb)) if owner == "user" else visit.project_scope("change_project")
    notice, change = CHANGES[verb]
    changed = await change(visit, scope, visit.field("id"), owner)
    place = f"memory-{changed.id}" if isinstance(changed, Memory) and verb != "promote" else ""
    return redirect_back(visit.field("back", "memory"), notice, place)


async def mark(visit: Visit) -> Response:
    """Mark a message as important, or remove the mark. The mark is in the index: the log never changes."""
    is_marked = visit.is_checked("high_value")
    await visit.engine.mark(visit.scope("mark"), visit.field("ref"), high_value=is_marked)
    return redirect_back(visit.field("back", "memory"), "marked" if is_marked else "saved")


GET_ROUTES = {
    "/memory": show_memories,
    "/memory/one": show_memory,
    "/memory/search": show_search,
    "/memory/episodes": show_episodes,
    "/memory/not-remembered": show_rejections,
}
POST_ROUTES = {
    "/memory/learn": add_memory,
    "/memory/mark": mark,
    **{f"/memory/{verb}": partial(change_memory, verb) for verb in CHANGES},
}
