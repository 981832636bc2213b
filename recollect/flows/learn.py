"""Learn: from turns to what is known. Read the turns and what is known of their keys, think (the rules, or a model),
reconcile, write: evidence, memories, the trail and the position in one transaction.

What is written was decided on a reading; if another changed what is known meanwhile, it is read and decided again.
The model is asked once all the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from recollect.flows.change import Amendment, change
from recollect.flows.parts import Parts
from recollect.flows.reason import claimed_facts
from recollect.model.asked import is_everything, named_keys
from recollect.model.conversation import Turn
from recollect.model.extract import extract
from recollect.model.fact import Extraction
from recollect.model.memory import Evidence
from recollect.model.reconcile import reconcile
from recollect.model.text import lexemes
from recollect.model.witness import evidence_in, not_said_yet, retractions
from recollect.model.work import Job
from recollect.rules import rulebooks
from recollect.store.database import Statement
from recollect.store.memories import Holder, Known, Lookup
from recollect.store.work import advanced, learned_up_to

PAGE = 200  # turns the rules read in one go
REASONED_PAGE = 20  # turns a model reads in one go
RULES = "rules"
KEPT_CHARS = 8_000


def reading(turn: Turn) -> Extraction:
    """What the rules find in a turn. It is read again when an episode is made of it: short ones are kept for that."""
    return _kept(turn.text, turn.role) if len(turn.text) <= KEPT_CHARS else extract(turn.text, turn.role, rulebooks())


@lru_cache(maxsize=1000)
def _kept(text: str, role: str) -> Extraction:
    return extract(text, role, rulebooks())


async def learn_by_rules(parts: Parts, job: Job, turns: Sequence[Turn], closing: Statement | None = None) -> Job:
    """Everything not read yet; `turns` is the first page of it. `closing` ends the job in the same transaction, where
    nothing else is to be done for it."""
    while turns:
        read = {turn.index or 0: reading(turn) for turn in turns}
        said = [said for turn in turns for said in evidence_in(job, turn, read[turn.index or 0].facts, "rules")]
        new = said + await taken_back(parts, job, turns, read, said)
        after = learned_up_to(job, (turns[-1].index or 0) + 1, also_reasoned=parts.reasoner is None)
        also = [closing] if closing and after.learned >= job.turns else []
        await write(parts, job, after, new, read, RULES, *also)
        after = replace(after, is_released=bool(also))
        job = after
        turns = await parts.store.work.unread(job, PAGE) if job.learned < job.turns else []
    return job


async def learn_by_model(parts: Parts, job: Job) -> Job:
    """What a model finds beyond the rules, a page at a time, each page written before the next is asked about."""
    while parts.reasoner is not None and job.reasoned < job.turns:
        last = min(job.turns, job.reasoned + REASONED_PAGE) - 1
        turns = await parts.store.work.between(job, job.reasoned, last)
        known = await parts.store.memories.known(job.scope, Lookup(limit=50))

        pairs = [(memory.key, memory.value) for memory in known]
        read = await claimed_facts(parts.reasoner, turns, pairs, rulebooks())
        said = [
            e
            for turn in turns
            if (found := read.get(turn.index or 0))
            for e in evidence_in(job, turn, found.facts, "model")
        ]

        after = replace(job, reasoned=last + 1)
        await write(parts, job, after, said, read, parts.reasoner.name)
        job = after
    return job


async def taken_back(
    parts: Parts, job: Job, turns: Sequence[Turn], read: Mapping[int, Extraction], new: Sequence[Evidence]
) -> list[Evidence]:
    """What users told us to forget in these turns, be it known already or `new` in them. Everything at once is never
    forgotten by a sentence."""
    orders = [(turn, c.text) for turn in turns for c in read[turn.index or 0].commands if c.verb == "forget"]
    told = [
        (turn, text, named_keys(text, rulebooks())) for turn, text in orders if not is_everything(text, rulebooks())
    ]
    if not told:
        return []
    words = {word for _, text, _ in told for word in lexemes(text)}
    keys = {key for _, _, named in told for key in named}
    known = [
        *await parts.store.memories.known(job.scope, Lookup(keys=sorted(keys), words=sorted(words), past=True)),
        *reconcile((), new).put,
    ]
    return [
        said
        for turn, text, named in told
        for said in retractions(job, turn, text, extract(text, "user", rulebooks()).facts, known, named)
    ]


async def write(
    parts: Parts,
    before: Job,
    after: Job,
    new: Sequence[Evidence],
    read: Mapping[int, Extraction],
    actor: str,
    *also: Statement,
) -> None:
    holder = Holder(before.scope, before.project, before.user)
    position = advanced(before, after)

    def amend(known: Known) -> Amendment:
        fresh = new if actor == RULES else not_said_yet(new, known.evidence)
        return Amendment(fresh, known.evidence, [position, *also])

    await change(parts, holder, {said.key for said in new}, amend, actor=actor, read=read)
