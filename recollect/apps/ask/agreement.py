"""Agreement: statements of a model and of the rules, grouped by what they give.

`collect_votes` asks the model for statements and runs them. The largest group is the answer; how large it is says how
sure the answer is, and where no group is larger, each becomes a choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from recollect.apps.ask.choices import make_clarification_id, word_question
from recollect.apps.ask.gate.check import check_sql
from recollect.apps.ask.interpret import Candidate
from recollect.apps.ask.interpret.decide import fingerprint
from recollect.apps.ask.interpretation import Interpretation, probe
from recollect.apps.ask.llm import ModelRun, repair_sql, sample_sql
from recollect.apps.ask.proposals import Execution, Inquiry, Proposal
from recollect.apps.ask.question import Choice, Clarification
from recollect.apps.ask.sources.running import Rows
from recollect.apps.ask.sql_text import add_conditions, describe_sql
from recollect.errors import InvalidInput, QueryFailed

MAX_CHOICES = 4
RULES = 1.2  # weight of the rules' best reading at full confidence; a sample of the model weighs 1
OTHERS = 0.5  # weight of their other readings, relative to the best
SETTLED = 1.4  # weight from which nothing further is asked
ALONE, BOTH = 0.6, 0.95  # confidence of a statement that nothing else supports, and of one that the rules share
EMPTY_RESULT = "the result is empty; check the filters and their spelling"


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
    def samples(self) -> int:
        """How many of the votes are the model's."""
        return sum(each.reading is None for each in self.votes)

    @property
    def first(self) -> Vote:
        """The vote that stands for the group: the model's first, if it has one."""
        return next((each for each in self.votes if each.reading is None), self.votes[0])

    @property
    def reading(self) -> Candidate | None:
        """The rules' interpretation of the same rows that leaves no word out."""
        readings = (each.reading for each in self.votes if each.reading is not None)
        return next((each for each in readings if not each.unexplained), None)


async def collect_votes(model: ModelRun, samples: int) -> tuple[list[Group], tuple[Clarification, ...]]:
    """Return the statements that ran, as groups, the largest first, and what the model asked back. There are no groups
    if the model gave no statement that runs."""
    inquiry, votes = model.inquiry, list[Vote]()
    asked: tuple[Clarification, ...] = ()
    if samples > 1 and inquiry.interpretation:
        votes = list_rule_votes(inquiry.interpretation)
    for sample in range(samples):
        reply = None if model.is_over else await sample_sql(model, sample)
        if reply is None:
            continue
        asked = asked or reply.questions
        vote = await cast_vote(model, reply.sql) if reply.sql else None
        votes += [vote] if vote else []
        if vote and group_votes(votes)[0].weight >= SETTLED:
            break
    groups = group_votes(votes)
    return (groups if any(each.samples for each in groups) else []), asked


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


async def cast_vote(model: ModelRun, sql: str) -> Vote | None:
    """Return a statement with its rows. One that fails or finds nothing is asked for again; without a better one, the
    statement that found nothing stands."""
    inquiry, ask = model.inquiry, model.inquiry.ask
    best, wanted = None, None if sql in model.rejected else sql
    while wanted is not None:
        try:
            statement = add_standing_filters(inquiry, wanted)
            vote = Vote(statement, await probe(statement, inquiry.source.connection, inquiry.view, inquiry.user))
        except InvalidInput as denied:
            problem, may_repair = str(denied), ask.fix
        except QueryFailed as error:
            problem, may_repair = str(error), ask.fix
            checked = check_sql(statement, inquiry.source.dialect, inquiry.view.allowed, rows=ask.rows)
            model.failed = Execution(Proposal("model", statement), checked, error=problem)
        else:
            if any(cell is not None for row in vote.rows.rows for cell in row):
                return vote
            best = best or vote
            problem, may_repair = EMPTY_RESULT, ask.review
        model.note_failure(wanted, problem)
        wanted = await repair_sql(model, wanted, problem) if may_repair else None
    return best


def add_standing_filters(inquiry: Inquiry, sql: str) -> str:
    """Return a statement with the standing filters of its tables, but for columns that it has a condition on."""
    statement = check_sql(sql, inquiry.source.dialect, inquiry.view.allowed, rows=inquiry.ask.rows)
    used = set(map(str.casefold, statement.columns))
    missing = {
        each.filter.table.casefold(): each.filter.condition
        for each in inquiry.taught.filters
        if each.filter.table in statement.tables and f"{each.filter.table}.{each.column}".casefold() not in used
    }
    return add_conditions(sql, inquiry.source.dialect, missing) if missing else sql


def group_votes(votes: Sequence[Vote]) -> list[Group]:
    """Return the groups, the largest first; of two that are equally large, the one that a model voted for first."""
    groups: dict[object, Group] = {}
    for vote in sorted(votes, key=lambda each: each.reading is not None):
        groups.setdefault(fingerprint(vote.rows.rows), Group()).votes.append(vote)
    return sorted(groups.values(), key=lambda each: -each.weight)


def rate_agreement(groups: Sequence[Group]) -> float:
    """Return the confidence of the largest group: the share of the model's statements that are in it, more if there are
    several or if the rules agree. A reading of the rules alone has their confidence."""
    best = groups[0]
    rules = (best.weight - best.samples) / RULES
    if not best.samples:
        return round(rules, 2)
    share = best.samples / sum(group.samples for group in groups)
    support = min((best.samples - 1) / 2 + rules, 1.0)
    return round(share * (ALONE + (BOTH - ALONE) * support), 2)


def label_group(group: Group, dialect: str) -> str:
    return group.reading.label if group.reading else describe_sql(group.first.sql, dialect)


def offer_groups(groups: Sequence[Group], inquiry: Inquiry) -> Clarification:
    """Return the question back for statements that do not agree: a choice for each of the largest groups."""
    choices = list[Choice]()
    for n, group in enumerate(groups[:MAX_CHOICES], 1):
        frame = group.reading.frame.to_data() if group.reading else {}
        sql = "" if group.reading else group.first.sql
        choices.append(Choice(str(n), label_group(group, inquiry.source.dialect), frame, sql=sql))
    labels, question = tuple(each.label for each in choices), inquiry.question
    new_id = make_clarification_id(inquiry.session)
    return Clarification(question[:80], word_question("", None, question), labels, "ambiguous", new_id, tuple(choices))
