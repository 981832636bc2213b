"""Deciding: answer, answer with assumptions, or offer choices. Words that were not understood are named and left out.

The caller runs the candidates and hands back their results; candidates with equal results are one answer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from recollect.apps.ask.interpret.frame import Frame, Ref
from recollect.apps.ask.interpret.propose import Candidate
from recollect.apps.ask.interpret.rank import WEIGHTS, Feature, confidence, score

CHOICES = 4
CLOSE = 1.0  # score by which a rival reading must be worse
NEAR = 2.0  # score within which another definition of the figure makes an answer less sure
FAR = 3.0  # score by which a reading is too much worse to be offered
SAME = 0.15  # score within which another definition fits as well
ANSWER, SURE, ASSUME = 0.9, 0.79, 0.72  # by measurement: below SURE only plain readings are right often enough
# The most that may speak against a plain reading; against the only one, its joins aside.
PLAIN_COST, LONELY_COST = 1.5, 0.5
# Features of readings that are wrong more often than right.
DOUBTS = (
    "existence_of_mention", "owner_differs", "shown_off_entity", "mixed_tables", "open_unused", "imperfect_value",
    "parallel_guessed", "table_unused", "definition_unsure", "by_not_group", "price_summed",
    "value_of_namesake",
)  # fmt: skip
LOST = ("skip_negation", "period_split")  # features of readings that say something else than the question
NEVER = (
    "group_by_row",
    "follow_unsure",
    "repeats_last",
    "skip_comparison",
)  # features of readings that are only offered

Kind = Literal["answer", "assume", "choices", "unclear"]


# A signal counts up to here: beyond that more of it says nothing new.
HIGHEST_SIGNALS = {
    "margin": 3.0, "unexplained": 3.0, "guesses": 2.0, "cost": 8.0, "support": 6.0, "left_over": 2.0, "joins": 4.0,
    "conditions": 4.0, "default_aggregate": 2.0, "follow_up": 1.5,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Result:
    """What running a candidate gave: its rows (capped), or an error."""

    rows: tuple[tuple[Any, ...], ...] = ()
    error: str = ""
    is_denied: bool = False  # the statement was refused before it ran
    is_truncated: bool = False

    @property
    def has_failed(self) -> bool:
        return bool(self.error) and not self.is_denied


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do: the best candidate comes first; `unexplained` are the words that were not understood."""

    kind: Kind
    candidates: tuple[Candidate, ...] = ()
    confidence: float = 0.0
    unexplained: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    signals: Mapping[str, float] | None = None


def decide(candidates: Sequence[Candidate], results: Mapping[str, Result]) -> Decision:
    """Return what to do, from the candidates and the results of those that were run."""
    groups = merge(candidates, results)
    failed = find_failed(candidates, results, groups)
    if failed is not None:
        return Decision("answer", (failed,), ASSUME)
    if not groups:
        return Decision("unclear")
    signals = make_signals(groups)
    words = tuple(dict.fromkeys(groups[0].unexplained))
    decision = Decision("choices", tuple(list_choices(groups)), confidence(signals), words, signals=signals)
    return replace(decision, kind=find_kind(decision, len(groups)))


def list_choices(groups: Sequence[Candidate]) -> list[Candidate]:
    """Return the best few candidates. One that leaves out more words than the best, or is much worse, is no choice;
    nor is a change of a reading that was only offered, unless the question looks like one."""
    best = groups[0]
    able = [
        each for each in groups[1:]
        if count_lost(each) <= count_lost(best) and best.score - each.score < FAR
        and (best.changed or ("follow_unsure", 1.0) not in each.features)
    ]  # fmt: skip
    return [best, *able[: CHOICES - 1]]


def count_lost(each: Candidate) -> float:
    """Return how many words a reading leaves out, and negations or parts of dates."""
    return len(each.unexplained) + sum(amount for name, amount in each.features if name in LOST)


def list_rivals(groups: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates without those that ask the same of another figure, another date or fewer columns. Such a
    definition is stated beside the answer, unless it fits as well."""
    best = groups[0]
    return [best, *(
        each for each in groups[1:] if not is_same_question(best, each) or best.score - each.score < SAME
    )]  # fmt: skip


def is_same_question(best: Candidate, other: Candidate) -> bool:
    """Whether two candidates differ only in how a figure is defined, or in columns that the other leaves out."""
    is_wider = not best.frame.columns or set(best.frame.columns) >= set(other.frame.columns)
    return is_wider and find_shape(best.frame) == find_shape(other.frame)


def find_shape(frame: Frame) -> Frame:
    """Return the frame without what defines its figures: their columns, the date, and which rows do not count."""
    nothing = Ref("")
    metrics = tuple(replace(each, of=nothing, per=None, part=None) for each in frame.metrics)
    return replace(
        frame.asked, subject="" if metrics else frame.subject, metrics=metrics, columns=(), having=(),
        groups=tuple(replace(each, of=nothing) if each.grain else each for each in frame.groups),
        periods=tuple(replace(each, of=nothing) for each in frame.periods),
        order=tuple(replace(each, of=None) for each in frame.order),
    )  # fmt: skip


def find_kind(decision: Decision, count: int) -> Kind:
    best = decision.candidates[0]
    if decision.unexplained or not is_likely(decision, best, count):
        return "choices"
    if decision.confidence >= ANSWER:
        return "assume" if best.guesses else "answer"
    # A word that may as well mean something else is asked about.
    rivals = [each for each in list_rivals(decision.candidates)[1:] if best.score - each.score < CLOSE]
    return "choices" if any(teaches(best, each) for each in rivals) else "assume"


def find_failed(
    candidates: Sequence[Candidate], results: Mapping[str, Result], groups: Sequence[Candidate]
) -> Candidate | None:
    """Return the best reading if the database cannot run it and no other comes close: its error is the answer, for
    example about a table that was renamed."""
    found = [each for each in candidates if each.id in results and results[each.id].has_failed]
    lowest = max(0.0, groups[0].score + CLOSE) if groups else 0.0
    best = max(found, key=lambda each: each.score, default=None)
    if best is None or best.unexplained or best.guesses or best.score < lowest:
        return None
    return best


def is_likely(decision: Decision, best: Candidate, count: int) -> bool:
    """Return whether the best reading may be answered. A guess needs a high confidence; the only reading is answered
    if nothing speaks against it, because a single choice is no choice."""
    signals = decision.signals or {}
    if signals["left_over"] >= 1 or any(name in NEVER and amount for name, amount in best.features):
        return False
    if best.guesses or decision.confidence >= SURE:
        return decision.confidence >= (ANSWER if best.guesses else SURE)
    if signals["doubts"] + signals["left_over"] + signals["empty"]:
        return False
    if count == 1:
        return signals["cost"] + WEIGHTS["join"] * signals["joins"] <= LONELY_COST
    return decision.confidence >= ASSUME and signals["margin"] >= CLOSE and signals["cost"] <= PLAIN_COST


def merge(candidates: Sequence[Candidate], results: Mapping[str, Result]) -> list[Candidate]:
    """Return one candidate per different result, best first, scored with what the result shows. A result without rows
    speaks against a reading only if another reading has rows."""
    ran = [(each, results[each.id]) for each in candidates if each.id in results and not results[each.id].error]
    has_rows = any(not each.unexplained and not result_features(result) for each, result in ran)
    best: dict[Any, Candidate] = {}
    for candidate, result in ran:
        features = result_features(result) if has_rows else []
        scored = replace(candidate, score=candidate.score + score(features), features=(*candidate.features, *features))
        key = fingerprint(result.rows)
        best[key] = max(best.get(key, scored), scored, key=lambda each: each.score)
    return sorted(best.values(), key=lambda each: -each.score)


def result_features(result: Result) -> list[Feature]:
    """An answer without rows, or with nothing but zeros or missing values, is suspicious."""
    if not result.rows:
        return [("empty_result", 1.0)]
    if all(cell is None for row in result.rows for cell in row):
        return [("null_result", 1.0)]
    is_zero = len(result.rows) == 1 and all(cell == 0 for cell in result.rows[0])
    return [("empty_result", 1.0)] if is_zero else []


def fingerprint(rows: Sequence[Sequence[Any]]) -> Any:
    """Rows as a bag of cells without case, column order aside."""
    if not rows:
        return ()
    columns = sorted((tuple(map(plain, column)) for column in zip(*rows, strict=True)), key=repr)
    return tuple(sorted(zip(*columns, strict=True), key=repr))


def plain(value: Any) -> Any:
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float):
        return round(float(value), 6)
    return str(value).strip().casefold()


def make_signals(groups: Sequence[Candidate]) -> dict[str, float]:
    """Return what the confidence is computed from."""
    best, rivals, amounts = groups[0], list_rivals(groups), sum_amounts(groups[0])
    parts = [WEIGHTS[name] * amount for name, amount in best.features]
    # A short follow-up often has one reading only, which speaks for it.
    is_alone = len(groups) == 1 and amounts["follow_cue"] < 1
    lonely_margin = 0.0 if is_alone else 2.0
    signals = {
        "margin": best.score - rivals[1].score if len(rivals) > 1 else lonely_margin,
        "definitions": max(0.0, NEAR - find_nearest_definition(groups, rivals)),
        "alone": float(is_alone),
        "unexplained": float(len(set(best.unexplained))),
        "guesses": float(len(best.guesses)),
        "cost": -sum(min(part, 0) for part in parts),
        # That the model calls a figure so ranks readings; which definition of it is meant stays open.
        "support": sum(max(part, 0) for part in parts) - WEIGHTS["named_figure"] * max(0.0, amounts["named_figure"]),
        "left_over": amounts["left_over"],
        "joins": amounts["join"],
        "conditions": float(best.frame.asked.conditions),
        "doubts": float(count_doubts(amounts)),
        "default_aggregate": amounts["default_aggregate"],
        "follow_up": max(amounts["follow_cue"], 0.0),
        "empty": amounts["empty_result"] + amounts["null_result"],
    }
    return {name: min(value, HIGHEST_SIGNALS.get(name, value)) for name, value in signals.items()}


def sum_amounts(candidate: Candidate) -> Mapping[str, float]:
    amounts: dict[str, float] = defaultdict(float)
    for name, amount in candidate.features:
        amounts[name] += amount
    return amounts


def find_nearest_definition(groups: Sequence[Candidate], rivals: Sequence[Candidate]) -> float:
    """Return how much worse the next definition of the figure is. That cancelled rows are left out is stated with the
    answer."""
    best = groups[0]
    same = [each for each in groups if each not in rivals and each.frame.asked != best.frame.asked]
    return min((best.score - each.score for each in same), default=NEAR)


def count_doubts(amounts: Mapping[str, float]) -> int:
    """Return how many features of wrong readings there are. A value is not doubtful beside its column or its rows."""
    is_placed = bool(amounts["column_beside_value"] or amounts["value_of_mentioned_table"])
    return sum(bool(amounts[name]) for name in DOUBTS) - (is_placed and amounts["imperfect_value"] > 0)


def teaches(chosen: Candidate, runner_up: Candidate) -> list[tuple[str, Any]]:
    """Return what choosing one candidate over another teaches: words and what they mean. A difference in grain, limit
    or order concerns this question only and teaches nothing."""
    other = dict(runner_up.links)
    return [
        (words, target) for words, target in chosen.links
        if words in other and other[words] != target
    ]  # fmt: skip
