"""Learn from turns: read the turns and what is known about their keys, extract facts by rules or by a model, reconcile,
and write evidence, memories, audit entries and the position in one transaction.

If the memories changed meanwhile, they are read and reconciled again; the model is asked only once. A message that
breaks the rules is logged and counted; the messages after it are learned from.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from itertools import chain

from recollect.errors import PromptTooLong, RecollectError
from recollect.flows.change import Amendment, add_evidence, change_memories
from recollect.flows.dependencies import Dependencies
from recollect.flows.reason import extract_facts, get_room, shorten
from recollect.learning.amendments import build_changes, reports_change
from recollect.learning.asked_keys import find_named_keys, is_everything
from recollect.learning.document_turns import HOST
from recollect.learning.evidence import build_evidence, build_retractions, drop_repeated
from recollect.learning.extract import STATED, extract
from recollect.learning.reconcile import reconcile
from recollect.learning.rules import rulebooks
from recollect.ports import Reasoner
from recollect.recall.lexemes import count_tokens, lexemes
from recollect.store.database import Statement
from recollect.store.memories import Holder, Known, Lookup
from recollect.store.work import advance_statement, move_learned
from recollect.threads import run_in_thread
from recollect.values.conversation import DATABASE_HOST, Turn
from recollect.values.memory import Evidence, Extraction, LearnedBy, Memory, Rejection
from recollect.values.work import Job

log = logging.getLogger("recollect.learning")

PAGE = 200  # turns the rules read in one go
REASONED_PAGE = 20  # turns a model reads in one go
TURN_TOKENS = 16  # of the marks around a turn
RULES = "rules"
FAILED = "failed"  # why nothing was learned from a message that broke our own code
KEPT_CHARS = 8_000
QUESTION_HOSTS = (DATABASE_HOST, HOST)  # applications whose messages are questions
INLINE_CHARS = 1_000  # of text that are analysed in the event loop: a few milliseconds


def extract_turn(turn: Turn) -> Extraction:
    """Return what the rules find in a turn. Short turns are cached, because they are read again for an episode. Of a
    question to a database or to documents only values with a name are kept: the rest is what it asks for."""
    is_short = len(turn.text) <= KEPT_CHARS
    found = _extract_cached(turn.text, turn.role) if is_short else extract(turn.text, turn.role, rulebooks())
    if (turn.data or {}).get("host") not in QUESTION_HOSTS:
        return found
    asked = [Rejection("question", fact.value) for fact in found.facts if fact.rule == STATED]
    named = [fact for fact in found.facts if fact.rule != STATED]
    return replace(found, facts=named, rejected=[*found.rejected, *asked])


@lru_cache(maxsize=1000)
def _extract_cached(text: str, role: str) -> Extraction:
    return extract(text, role, rulebooks())


async def learn_by_rules(deps: Dependencies, job: Job, turns: Sequence[Turn], closing: Statement | None = None) -> Job:
    """Learn from every unread turn; `turns` is the first page. `closing` releases the job in the same transaction if
    nothing else is left to do."""
    while turns:
        read, said = await extract_page(job, turns)
        new = said + await find_retracted(deps, job, turns, read, said)
        new += await find_changes(deps, job, turns, read, said)
        after = move_learned(job, (turns[-1].index or 0) + 1, also_reasoned=deps.reasoner is None)
        also = [closing] if closing and after.learned >= job.turns else []
        await write_learned(deps, job, after, new, read, RULES, *also)
        after = replace(after, is_released=bool(also))
        job = after
        turns = await deps.store.work.list_unread(job, PAGE) if job.learned < job.turns else []
    return job


async def extract_page(job: Job, turns: Sequence[Turn]) -> tuple[dict[int, Extraction], list[Evidence]]:
    """Return what the rules find in some turns; longer texts are analyzed in a thread."""

    def read_all() -> tuple[dict[int, Extraction], list[Evidence]]:
        read = read_turns(turns)
        return read, list_evidence(job, turns, read, "rules")

    return await run_in_thread(read_all) if is_long(turns) else read_all()


def read_turns(turns: Sequence[Turn]) -> dict[int, Extraction]:
    """Return what the rules find in each turn, by its index."""
    read: dict[int, Extraction] = {}
    for turn in turns:
        with skipping_failed(turn, read):
            read[turn.index or 0] = extract_turn(turn)
    return read


@contextmanager
def skipping_failed(turn: Turn, read: dict[int, Extraction]) -> Iterator[None]:
    """Log an error of the pure code inside and count it as a rejection of the turn, instead of raising it. It would
    fail again each time, and the turns after it would never be learned from."""
    try:
        yield
    except Exception:
        log.exception("message %s is not learned from", turn.ref)
        found = read.get(turn.index or 0, Extraction())
        read[turn.index or 0] = replace(found, rejected=[*found.rejected, Rejection(FAILED, turn.text)])


def is_long(turns: Sequence[Turn]) -> bool:
    """Return whether the turns have too much text to be analyzed in the event loop."""
    return sum(len(turn.text) for turn in turns) > INLINE_CHARS


async def learn_by_model(deps: Dependencies, job: Job) -> Job:
    """Learn what a model finds beyond the rules, page by page, each page written before the next is sent."""
    if deps.reasoner is None:
        return job
    room = await get_room(deps.reasoner)
    while job.reasoned < job.turns:
        last = min(job.turns, job.reasoned + REASONED_PAGE) - 1
        turns = take_fitting(await deps.store.work.load_turns(job, job.reasoned, last), room)
        known = await deps.store.memories.find_known(job.scope, Lookup(limit=50))
        pairs = [(memory.key, memory.value) for memory in known]
        try:
            read = await read_by_model(deps.reasoner, turns, pairs)
        except PromptTooLong:
            if len(turns) > 1:
                room = sum(map(count_turn, turns)) // 2
                continue
            read = {turns[0].index or 0: Extraction(rejected=[Rejection("too long for the model", turns[0].text)])}

        after = replace(job, reasoned=(turns[-1].index or 0) + 1)
        await write_learned(deps, job, after, list_evidence(job, turns, read, "model"), read, deps.reasoner.name)
        job = after
    return job


async def read_by_model(
    reasoner: Reasoner, turns: Sequence[Turn], known: Sequence[tuple[str, str]]
) -> dict[int, Extraction]:
    """Return what a model finds in some turns. If the check of its answer breaks, each turn is counted as rejected: the
    model would be asked again and again, and for nothing."""
    try:
        return await extract_facts(reasoner, turns, known, rulebooks())
    except RecollectError:
        raise
    except Exception:
        log.exception("messages %s to %s: the model's answer is not learned from", turns[0].ref, turns[-1].ref)
        return {turn.index or 0: Extraction(rejected=[Rejection(FAILED, turn.text)]) for turn in turns}


def list_evidence(job: Job, turns: Sequence[Turn], read: Mapping[int, Extraction], by: LearnedBy) -> list[Evidence]:
    """Return the evidence of all turns, in their order."""
    found = ((turn, read.get(turn.index or 0, Extraction())) for turn in turns)
    return [said for turn, each in found for said in build_evidence(job, turn, each.facts, by)]


def take_fitting(turns: Sequence[Turn], room: int) -> Sequence[Turn]:
    """Return the first turns that fit into `room` tokens; at least one."""
    for count, turn in enumerate(turns):
        room -= count_turn(turn)
        if room < 0:
            return turns[: max(count, 1)]
    return turns


def count_turn(turn: Turn) -> int:
    return count_tokens(shorten(turn.text)) + TURN_TOKENS


async def find_retracted(
    deps: Dependencies, job: Job, turns: Sequence[Turn], read: dict[int, Extraction], new: Sequence[Evidence]
) -> list[Evidence]:
    """Return the retractions in these turns ("forget that ..."), of known and `new` evidence. A sentence never retracts
    everything at once."""
    orders = [(turn, c.text) for turn in turns for c in read[turn.index or 0].commands if c.verb == "forget"]
    told = [
        (turn, text, find_named_keys(text, rulebooks()))
        for turn, text in orders
        if not is_everything(text, rulebooks())
    ]
    if not told:
        return []
    words = set(chain.from_iterable(lexemes(text) for _, text, _ in told))
    keys = set(chain.from_iterable(named for _, _, named in told))
    known = await deps.store.memories.find_known(job.scope, Lookup(keys=sorted(keys), words=sorted(words), past=True))

    def retract_all() -> list[Evidence]:
        meant, found = [*known, *reconcile((), new).put], list[Evidence]()
        for turn, text, named in told:
            with skipping_failed(turn, read):
                found += build_retractions(job, turn, text, extract(text, "user", rulebooks()).facts, meant, named)
        return found

    return await run_in_thread(retract_all)


async def find_changes(
    deps: Dependencies, job: Job, turns: Sequence[Turn], read: dict[int, Extraction], new: Sequence[Evidence]
) -> list[Evidence]:
    """Return evidence of what these turns end or correct without naming its key, among known memories and `new`
    ones."""
    changing: list[Turn] = []
    for turn in turns:
        with skipping_failed(turn, read):
            changing += [turn] if turn.role == "user" and reports_change(turn.text) else []
    if not changing:
        return []
    words = sorted({word for turn in changing for word in lexemes(turn.text)})
    known = await deps.store.memories.find_known(job.scope, Lookup(words=words))

    def compare() -> list[Evidence]:
        made: list[Evidence] = []
        for turn in changing:
            with skipping_failed(turn, read):
                here = [said for said in new if said.turn == turn.index]
                made += build_changes(job, turn, list_active(known, [*new, *made], turn), here)
        return made

    return await run_in_thread(compare)


def list_active(known: Sequence[Memory], new: Sequence[Evidence], turn: Turn) -> list[Memory]:
    """Return the memories that are active when a turn is said and that it may change: known ones, and what was learned
    from earlier turns."""
    before = [said for said in new if (said.turn or 0) < (turn.index or 0)]
    active = [memory for memory in [*known, *reconcile((), before).put] if memory.status == "active"]
    return [memory for memory in active if not is_taught_by(turn, memory)]


def is_taught_by(turn: Turn, memory: Memory) -> bool:
    """Return whether a message gives the meaning that a memory has: "VIP means customers with sales over 1000"."""
    is_meaning = memory.kind in ("definition", "terminology")
    return is_meaning and set(lexemes(f"{memory.key} {memory.value}")) <= set(lexemes(turn.text))


async def write_learned(
    deps: Dependencies,
    before: Job,
    after: Job,
    new: Sequence[Evidence],
    read: Mapping[int, Extraction],
    actor: str,
    *also: Statement,
) -> None:
    """Write new evidence together with the job's new position."""
    holder = Holder(before.scope, before.project, before.user)
    position = advance_statement(before, after)
    if actor == RULES:
        await add_evidence(deps, holder, new, position, *also, actor=actor, read=read)
        return

    def amend(known: Known) -> Amendment:
        return Amendment(drop_repeated(new, known.evidence), known.evidence, [position, *also])

    await change_memories(deps, holder, {said.key for said in new}, amend, actor=actor, read=read)
