"""The memory page: what is known about the user and shared in the project, the history of each memory, a recall test,
summaries, and what was not remembered."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, time
from functools import partial
from typing import Any, Literal

from starlette.responses import Response

from recollect import Context, InvalidInput, Lesson, Memory, NotFound, Query, Scope, Turn
from recollect.server.console.handlers import Pages, Values
from recollect.server.console.render import link, redirect_back, render_page
from recollect.server.console.visit import Visit
from recollect.values.identity import Action
from recollect.values.lesson import IMPORTANCE, Owner
from recollect.values.memory import ALWAYS_ON, MemoryKind, Status, list_versions
from recollect.values.query import Reach

pages = Pages()
Shown = Literal["", "pending", "ended", "all"]
CURRENT: tuple[Status, ...] = ("active", "pending")
STATUSES: Mapping[Shown, Sequence[Status] | None] = {  # by their name in the address
    "": CURRENT,
    "pending": ("pending",),
    "ended": ("superseded", "retracted"),
    "all": None,
}
OWNERS: tuple[Owner, ...] = ("user", "project")
LISTS: Mapping[Owner, str] = {"user": "memory", "project": "memory?owner=project"}
PAGE_MEMORIES = 25
MAX_COUNTED = 1_000  # memories that are counted by kind
MAX_QUOTES = 5
PAGE_EPISODES = 20
MAX_EPISODES = 1_000
MAX_SESSIONS = 50
BUDGET = 2000
SHOWN_HITS = 10
NOT_ALWAYS_ON = ALWAYS_ON - 0.1  # importance of a memory that is used only where it is relevant
EMPTY_FORM = {"kind": "note", "key": "", "value": "", "owner": "user", "always": "on"}


def find_end(day: date | None) -> datetime | None:
    """Return the last moment of a day."""
    return datetime.combine(day, time.max, UTC) if day else None


# The list -------------------------------------------------------------------------------------------------------------


@pages.get("/memory")
async def show_memories(
    visit: Visit,
    owner: Owner = "user",
    kind: Literal[MemoryKind, ""] = "",
    status: Shown = "",
    as_of: date | None = None,
    after: str = "",
    *,
    typed: Mapping[str, str] = EMPTY_FORM,
    problem: str = "",
) -> Response:
    """Return the list. `typed` fills the form that adds a memory; `problem` says why it was refused."""

    async def load(owner: Owner, **more: Any) -> list[Memory]:
        found: Any = {"status": STATUSES[status], "owner": owner, "as_of": find_end(as_of), **more}
        return await visit.engine.memories(scope_to_read(visit, owner), **found)

    memories = await load(owner, kinds=[kind] if kind else None, limit=PAGE_MEMORIES, after=after or None)
    counts = {each: Counter(memory.kind for memory in await load(each, limit=MAX_COUNTED)) for each in OWNERS}
    values = {
        "owner": owner,
        "filters": {"owner": "" if owner == "user" else owner, "kind": kind, "status": status, "as_of": as_of},
        "memories": memories,
        "next_page": str(memories[-1].id) if len(memories) == PAGE_MEMORIES else "",
        "is_paged": bool(after),
        "counts": counts,  # with all filters but the kind
        "max_counted": MAX_COUNTED,
        "typed": typed,
        "problem": problem,
    }
    return render_page(visit, "memory.html", values, 400 if problem else 200)


@pages.post("/memory/learn")
async def add_memory(
    visit: Visit, always: bool, kind: str = "", key: str = "", value: str = "", owner: Owner = "user"
) -> Response:
    """Learn what the form says; without a key it is a note."""
    scope = visit.scope("learn") if owner == "user" else visit.project_scope("learn_project")
    try:
        importance = IMPORTANCE if always else NOT_ALWAYS_ON
        given: Any = {"kind": kind, "source": "manual", "owner": owner, "importance": importance}
        memory = await visit.engine.learn(scope, Lesson(value, key.strip() or "note", **given))
    except InvalidInput as error:  # show the form again with what was typed
        typed = {"kind": kind, "key": key, "value": value, "owner": owner, "always": "on" if always else ""}
        return await show_memories(visit, owner, typed=typed, problem=visit.explain(error))
    notice = "shared" if memory.status == "pending" else "learned"
    return redirect_back(LISTS[owner], notice, f"memory-{memory.id}")


# One memory -----------------------------------------------------------------------------------------------------------


@pages.get("/memory/one", "memory_one.html")
async def show_memory(visit: Visit, id: str = "", owner: Owner | None = None) -> Values:  # noqa: A002 - as in the address
    """Show a memory with all values it had, and the messages it was learned from. Without an owner in the address, the
    user's memories are searched first."""
    whose, memory = await find_memory(visit, id, [owner] if owner else OWNERS)
    same_key = await visit.engine.memories(scope_to_read(visit, whose), key=memory.key, status=None, owner=whose)
    versions = list_versions(memory, same_key)
    others = [each for each in same_key if each not in versions and each.kind == memory.kind]
    related = sorted(others, key=lambda each: (each.valid_from, each.id), reverse=True)
    current = next((each for each in reversed(versions) if each.status in CURRENT), memory)
    return {
        "owner": whose,
        "memory": memory,
        "known": current,
        "versions": versions[::-1],
        "related": related,  # with the same key, but independent, as notes are
        "quotes": await load_quotes(visit, current.refs if whose == "user" else ()),
        "here": link("memory/one", id=memory.id, owner=whose).removeprefix("/console/"),
        # a key without access to user data came from the glossary
        "list_path": LISTS[whose] if visit.can("memories") else "terms",
    }


async def find_memory(visit: Visit, wanted: str, owners: Sequence[Owner]) -> tuple[Owner, Memory]:
    for owner in owners:
        with suppress(NotFound):
            return owner, await visit.engine.memory(scope_to_read(visit, owner), wanted, owner=owner)
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


@pages.get("/memory/search")
async def show_search(
    visit: Visit, q: str = "", session: str = "", as_of: date | None = None, reach: Reach = "auto", budget: int = BUDGET
) -> Response:
    """Show what memory would give for a question.

    It is a real request: nothing is stored or learned, but it counts in the metrics, and memories that match count as
    used.
    """
    sessions = await visit.engine.conversations(visit.scope("context"), limit=MAX_SESSIONS)
    context: Context | None = None
    problem = ""
    if q.strip():
        try:
            query = Query(q.strip(), reach, as_of=find_end(as_of), budget=budget)
            context = await visit.engine.context(visit.scope("context", session), query)
        except InvalidInput as error:  # show the form again with what was typed
            problem = visit.explain(error)
    values = {
        "typed": {"q": q, "session": session, "as_of": as_of or "", "reach": reach, "budget": budget},
        "sessions": sessions,
        "context": context,
        "problem": problem,
        "shown_hits": SHOWN_HITS,
    }
    return render_page(visit, "memory_search.html", values, 400 if problem else 200)


@pages.get("/memory/episodes", "memory_episodes.html")
async def show_episodes(visit: Visit, session: str = "", from_: int = 0) -> Values:
    """Show the summaries of one session or of all, newest first."""
    episodes = await visit.engine.episodes(visit.scope("episodes", session), limit=MAX_EPISODES)
    end = from_ + PAGE_EPISODES
    return {
        "episodes": episodes[::-1][from_:end],
        "count": len(episodes),
        "session": session,
        "start": from_,
        "next_page": end if len(episodes) > end else None,
    }


@pages.get("/memory/not-remembered", "memory_not_remembered.html")
async def show_rejections(visit: Visit) -> Values:
    return {"counts": await visit.engine.rejections(visit.scope("rejections"))}


# Forms that change a memory, on every page that shows one -------------------------------------------------------------


def scope_to_read(visit: Visit, owner: Owner) -> Scope:
    return visit.scope("memories" if owner == "user" else "memories_project")


CHANGES: Mapping[Action, tuple[str, Callable[[Visit, Scope, str, Owner], Awaitable[object]]]] = {  # notice, verb
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


async def change_memory(verb: Action, visit: Visit, id: str, owner: Owner = "user", back: str = "memory") -> Response:  # noqa: A002
    """Change a memory, and redirect to the page that had the form, there to the memory if it still exists."""
    whose: Owner = owner if verb in OF_PROJECT else "user"
    scope = visit.scope(verb) if whose == "user" else visit.project_scope("change_project")
    notice, change = CHANGES[verb]
    changed = await change(visit, scope, id, whose)
    place = f"memory-{changed.id}" if isinstance(changed, Memory) and verb != "promote" else ""
    return redirect_back(back, notice, place)


for each in CHANGES:
    pages.post(f"/memory/{each}")(partial(change_memory, each))


@pages.post("/memory/mark")
async def mark(visit: Visit, high_value: bool, ref: str, back: str = "memory") -> Response:
    """Mark a message as important, or remove the mark. The mark is in the index: the log never changes."""
    await visit.engine.mark(visit.scope("mark"), ref, high_value=high_value)
    return redirect_back(back, "marked" if high_value else "saved")
