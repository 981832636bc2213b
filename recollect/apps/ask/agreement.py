"""Agreement: statements of a model and of the rules, grouped by what they give. The largest group is the answer; how
large it is says how sure the answer is, and where no group is larger, each becomes a choice. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from recollect.apps.ask.choices import word_question
from recollect.apps.ask.interpret import Candidate
from recollect.apps.ask.interpret.decide import fingerprint
from recollect.apps.ask.interpretation import Interpretation
from recollect.apps.ask.question import Choice, Clarification
from recollect.apps.ask.sources.running import Rows
from recollect.values.scope import uuid7

MAX_CHOICES = 4
RULES = 1.2  # weight of the rules' best reading at full confidence; a sample of the model weighs 1
OTHERS = 0.5  # weight of their other readings, relative to the best
SETTLED = 1.4  # weight from which nothing further is asked
ALONE, BOTH = 0.6, 0.95  # confidence of a statement that nothing else supports, and of one that the rules share


@dataclass(frozen=True, slots=True)
class Vote:
    """A statement that ran. `reading` is the candidate that it comes from, if the rules made it."""

    sql: str
    rows: Rows
    weight: float = 1.0
    reading: Candidate | None = None


@dataclass(slots=True)
class Group:
    """Votes with equal rows."""

    votes: list[Vote] = field(default_factory=list)

    @property
    def weight(self) -> float:
        return sum(each.weight for each in self.votes)

    @property
    def first(self) -> Vote:
        """The vote that stands for the group: the model's first, if it has one."""
        return next((each for each in self.votes if each.reading is None), self.votes[0])

    @property
    def reading(self) -> Candidate | None:
        """The rules' interpretation of the same rows that leaves no word out."""
        made = (each.reading for each in self.votes if each.reading is not None)
        return next((each for each in made if not each.unexplained), None)


def list_rule_votes(found: Interpretation) -> list[Vote]:
    """Return the rules' readings that ran, weighed by their confidence."""
    decision = found.decision
    if decision.kind == "unclear":
        return []
    return [
        Vote(each.sql, found.rows[each.id], RULES * decision.confidence * (OTHERS if n else 1), each)
        for n, each in enumerate(decision.candidates)
        if each.id in found.rows
    ]


def group_votes(votes: Sequence[Vote]) -> list[Group]:
    """Return the groups, the largest first; of two that are equally large, the one that a model voted for first."""
    groups: dict[object, Group] = {}
    for vote in sorted(votes, key=lambda each: each.reading is not None):
        groups.setdefault(fingerprint(vote.rows.rows), Group()).votes.append(vote)
    return sorted(groups.values(), key=lambda each: -each.weight)


def is_settled(groups: Sequence[Group]) -> bool:
    return groups[0].weight >= SETTLED


def rate_agreement(groups: Sequence[Group]) -> float:
    """Return the confidence of the largest group: the share of the model's statements that are in it, more if there are
    several or if the rules agree. A reading of the rules alone has their confidence."""
    best = groups[0]
    own = sum(each.reading is None for each in best.votes)
    rules = (best.weight - own) / RULES
    if not own:
        return round(rules, 2)
    share = own / sum(each.reading is None for group in groups for each in group.votes)
    support = min((own - 1) / 2 + rules, 1.0)
    return round(share * (ALONE + (BOTH - ALONE) * support), 2)


def make_question(
    groups: Sequence[Group], labels: Sequence[str], question: str, session: str | None
) -> Clarification:  # fmt: skip
    """Return the question back for statements that do not agree: a choice for each of the largest groups."""
    choices = tuple(
        Choice(str(n), label, each.reading.frame.to_data())
        if each.reading
        else Choice(str(n), label, sql=each.first.sql)
        for n, (label, each) in enumerate(zip(labels[:MAX_CHOICES], groups, strict=False), 1)
    )
    texts = tuple(each.label for each in choices)
    place = f"{uuid7().hex}@{session or ''}"
    return Clarification(question[:80], word_question("", None, question), texts, "ambiguous", place, choices)
