"""Agreement: statements of a model and of the rules, grouped by what they give.

`collect_votes` asks the model for statements and runs them. The group with the most weight is the answer; its lead says
how sure the answer is, and where it has none, the groups become choices. A statement of the model weighs 1; the rules'
best reading weighs by its log odds, so that from a confidence of about 0.8 it outweighs one statement of the model.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from recollect.apps.ask.answers.wording import word_question
from recollect.apps.ask.candidates.choices import offer
from recollect.apps.ask.candidates.interpretation import PROBE_ROWS, PROBE_SECONDS, Interpretation
from recollect.apps.ask.candidates.proposals import get_whole_rows, list_used_words
from recollect.apps.ask.gate import check_sql
from recollect.apps.ask.inquiry import Inquiry
from recollect.apps.ask.interpret import Candidate
from recollect.apps.ask.interpret.decide import fingerprint
from recollect.apps.ask.llm.fitting import fit_to_data
from recollect.apps.ask.llm.model_run import REPAIRS, ModelRun, repair_sql, sample_sql
from recollect.apps.ask.question import Answer, Choice, Clarification
from recollect.apps.ask.source_registry import run_sql
from recollect.apps.ask.sources.running import Rows
from recollect.apps.ask.sql_text import add_conditions, describe_sql
from recollect.errors import InvalidInput, QueryFailed

MAX_CHOICES = 4
TRUST = 0.75  # how often a statement of the model is taken to be right
RIVALS = 5  # wrong results that are as likely as each other, for the weight of a vote
OTHERS = 0.4  # weight of the rules' other readings
EMPTY = 0.5  # weight of an empty result, relative to one with rows
SETTLED, LEAD = 1.4, 0.5  # weight and lead from which nothing further is asked
BASE, SLOPE = -0.6, 1.8  # log odds of the leading group by its lead, as measured (docs/why/model-path.md)
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
    """Votes with equal rows, further columns aside."""

    votes: list[Vote] = field(default_factory=list)

    @property
    def weight(self) -> float:
        return sum(each.weight for each in self.votes)

    @property
    def first(self) -> Vote:
        """The vote that stands for the group: the heaviest, the model's before the rules'."""
        return max(self.votes, key=lambda each: (each.weight, each.reading is None))

    @property
    def reading(self) -> Candidate | None:
        """The rules' interpretation of the same rows that leaves no word out."""
        readings = (each.reading for each in self.votes if each.reading is not None)
        return next((each for each in readings if not each.unexplained), None)


async def collect_votes(model: ModelRun, samples: int) -> list[Group]:
    """Return the statements that ran, as groups, the heaviest first. There are none if the model gave no statement that
    runs, or if it was not asked: one sample is not spent on a question of whose reading the rules are sure."""
    found = model.inquiry.interpretation
    if samples == 1 and found and found.decision.kind == "answer":
        return []
    votes, groups = list_rule_votes(found), list[Group]()
    model.most_repairs = min(REPAIRS, samples)
    for sample in range(samples):
        sql = await sample_sql(model, sample)
        if sql and (vote := await cast_vote(model, sql)):
            votes.append(vote)
            groups = group_votes(votes)
            if is_settled(groups):
                break
    return groups


def list_rule_votes(found: Interpretation | None) -> list[Vote]:
    """Return the rules' readings that ran, with their weights."""
    if found is None or found.decision.kind == "unclear":
        return []
    decision = found.decision
    return [
        Vote(each.sql, rows, weigh(decision.confidence if n == 0 else 0.0) * weigh_rows(rows), each)
        for n, each in enumerate(decision.candidates)
        if (rows := found.rows.get(each.id)) is not None
    ]


def weigh(confidence: float) -> float:
    """Return the weight of a reading that is right with this probability, relative to a statement of the model."""
    odds = min(confidence, 0.99) / (1 - min(confidence, 0.99))
    return max(OTHERS, math.log(max(RIVALS * odds, 1.0)) / math.log(RIVALS * TRUST / (1 - TRUST)))


def weigh_rows(rows: Rows) -> float:
    return 1.0 if any(cell is not None for row in rows.rows for cell in row) else EMPTY


async def cast_vote(model: ModelRun, sql: str) -> Vote | None:
    """Return a statement with its rows. One that fails or finds nothing is asked for again; without a better one, the
    statement that found nothing stands."""
    inquiry, ask = model.inquiry, model.inquiry.ask
    best, wanted = None, None if sql in model.rejected else sql
    while wanted is not None:
        try:
            statement = prepare_sql(inquiry, wanted)
            rows = await run_sql(
                inquiry.source.connection, inquiry.view, statement, PROBE_ROWS, inquiry.user, PROBE_SECONDS
            )
        except InvalidInput as denied:
            problem, may_repair = str(denied), ask.fix
        except QueryFailed as error:
            problem, may_repair = str(error), ask.fix
            checked = check_sql(statement, inquiry.source.dialect, inquiry.view.allowed, rows=ask.rows)
            begun = inquiry.begin("model", sql=checked.sql, full_sql=checked.full_sql, tables=checked.tables)
            model.failed = replace(begun, error=problem)
        else:
            vote = Vote(statement, rows, weigh_rows(rows))
            if vote.weight == 1:
                return vote
            best = best or vote
            problem, may_repair = EMPTY_RESULT, ask.review
        model.note_failure(wanted, problem)
        wanted = await repair_sql(model, wanted, problem) if may_repair else None
    return best


def prepare_sql(inquiry: Inquiry, sql: str) -> str:
    """Return a statement of the model that fits the data, with the standing filters of its tables, but for columns that
    it has a condition on. Raises InvalidInput if the gate refuses it."""
    statement = check_sql(sql, inquiry.source.dialect, inquiry.view.allowed, rows=inquiry.ask.rows)
    values = inquiry.interpretation.values if inquiry.interpretation else ()
    sql = fit_to_data(statement.full_sql, inquiry.view, values)
    used = set(map(str.casefold, statement.columns))
    missing = {
        each.table.casefold(): each.condition
        for said, each in inquiry.taught.filters
        if each.table in statement.tables and said.term.casefold() not in used
    }
    return add_conditions(sql, inquiry.source.dialect, missing) if missing else sql


def group_votes(votes: Sequence[Vote]) -> list[Group]:
    """Return the groups, the heaviest first; of two that are equally heavy, the one that a model voted for first."""
    groups = list[Group]()
    for vote in sorted(votes, key=lambda each: each.reading is not None):
        same = (each for each in groups if have_same_rows(each.votes[0].rows.rows, vote.rows.rows))
        group = next(same, None)
        if group is None:
            groups.append(group := Group())
        group.votes.append(vote)
    return sorted(groups, key=lambda each: -each.weight)


def have_same_rows(one: Sequence[Sequence[Any]], other: Sequence[Sequence[Any]]) -> bool:
    """Return whether two results have equal rows, where one may have further columns."""
    narrow, wide = (list(zip(*rows, strict=True)) for rows in sorted((one, other), key=count_columns))
    if len(one) != len(other) or len(narrow) == len(wide):
        return bool(fingerprint(one) == fingerprint(other))
    picked = list[Sequence[Any]]()
    for column in narrow:
        same = [each for each in wide if each not in picked and is_permuted(each, column)]
        picked += same[:1]
    return len(picked) == len(narrow) and is_permuted(list(zip(*picked, strict=True)), list(zip(*narrow, strict=True)))


def count_columns(rows: Sequence[Sequence[Any]]) -> int:
    return len(rows[0]) if rows else 0


def is_permuted(one: Sequence[Any], other: Sequence[Any]) -> bool:
    """Return whether two lists of cells, or of rows, have the same entries in any order."""
    rows = [[list(each) if isinstance(each, tuple) else [each] for each in part] for part in (one, other)]
    return bool(fingerprint(rows[0]) == fingerprint(rows[1]))


def get_lead(groups: Sequence[Group]) -> float:
    return groups[0].weight - (groups[1].weight if len(groups) > 1 else 0.0)


def is_settled(groups: Sequence[Group]) -> bool:
    return groups[0].weight >= SETTLED and get_lead(groups) >= LEAD


def rate_agreement(groups: Sequence[Group]) -> float:
    """Return the confidence of the leading group, by its lead over the next."""
    return round(1 / (1 + math.exp(-BASE - SLOPE * get_lead(groups))), 2)


def label_group(group: Group, dialect: str) -> str:
    return group.reading.label if group.reading else describe_sql(group.first.sql, dialect)


def propose_agreement(inquiry: Inquiry, groups: Sequence[Group], examples: int) -> Answer:
    """Return the statement of the largest group."""
    best, sql = groups[0], groups[0].first.sql
    statement = check_sql(sql, inquiry.source.dialect, inquiry.view.allowed, rows=inquiry.ask.rows)
    return inquiry.begin(
        "model",
        sql=sql,
        explanation=label_group(best, inquiry.source.dialect),
        confidence=rate_agreement(groups),
        assumptions=list_used_words(inquiry, statement),
        frame=best.reading.frame if best.reading else None,
        examples=examples,
        rows=get_whole_rows(best.first.rows, inquiry.ask.rows),
    )


def offer_groups(groups: Sequence[Group], inquiry: Inquiry) -> Clarification:
    """Return the question back for statements that do not agree: a choice for each of the largest groups."""
    choices = list[Choice]()
    for n, group in enumerate(groups[:MAX_CHOICES], 1):
        frame = group.reading.frame.to_data() if group.reading else {}
        sql = "" if group.reading else group.first.sql
        choices.append(Choice(str(n), label_group(group, inquiry.source.dialect), frame, sql=sql))
    return offer(inquiry, tuple(choices), inquiry.question[:80], word_question("", None, inquiry.question))
