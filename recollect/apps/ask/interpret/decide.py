"""Deciding: answer, answer with assumptions, offer choices, or say which words were not understood.

The caller runs the candidates and hands back their results; candidates with equal results are one answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from recollect.apps.ask.interpret.propose import Candidate
from recollect.apps.ask.interpret.rank import WEIGHTS, confidence

CHOICES = 4
UNCLEAR = 2  # unexplained words from which choices do not help
CLOSE = 1.0  # score by which a rival reading must be worse
ANSWER, SURE, ASSUME = 0.9, 0.8, 0.7  # by measurement: below SURE only plain readings are right often enough
PLAIN_COST, LONELY_COST = 1.5, 0.5  # the most that may speak against a plain reading, and against the only one
# Features of readings that are wrong more often than right.
DOUBTS = (
    "existence_of_mention", "owner_differs", "shown_off_entity", "mixed_tables", "open_unused", "imperfect_value",
    "no_label", "contradiction", "parallel_guessed", "table_unused", "definition_unsure", "by_not_group",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Result:
    """What running a candidate gave: its rows (capped), or an error."""

    rows: tuple[tuple[Any, ...], ...] = ()
    error: str = ""
    is_denied: bool = False  # the statement was refused before it ran
    is_truncated: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do: the best candidate comes first; `unexplained` are the words that were not understood."""

    kind: Literal["answer", "assume", "choices", "unclear"]
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
    best, choices = groups[0], tuple(groups[:CHOICES])
    signals = make_signals(groups)
    words = tuple(dict.fromkeys(best.unexplained))
    decision = Decision("choices", choices, confidence(signals), words, signals=signals)
    if all(len(set(each.unexplained)) >= UNCLEAR for each in choices):
        return replace(decision, kind="unclear")
    if words or not is_likely(decision, best, len(groups)):
        return decision
    if decision.confidence >= ANSWER and not best.guesses:
        return replace(decision, kind="answer")
    # A word that may as well mean something else is asked about, unless the confidence is high.
    rivals = [each for each in choices[1:] if best.score - each.score < CLOSE]
    is_disputed = decision.confidence < ANSWER and any(teaches(best, each) for each in rivals)
    return decision if is_disputed else replace(decision, kind="assume")


def find_failed(
    candidates: Sequence[Candidate], results: Mapping[str, Result], groups: Sequence[Candidate]
) -> Candidate | None:
    """Return the best reading if the database cannot run it and no other comes close: its error is the answer, for
    example about a table that was renamed."""
    found = [(each, results[each.id]) for each in candidates if each.id in results]
    errors = [each for each, result in found if result.error and not result.is_denied]
    best = max(errors, key=lambda each: each.score, default=None)
    if best is None or best.unexplained or best.guesses or best.score < 0:
        return None
    return best if not groups or best.score - groups[0].score >= CLOSE else None


def is_likely(decision: Decision, best: Candidate, count: int) -> bool:
    """Return whether the best reading may be answered. A guess needs a high confidence; the only reading is answered
    if nothing speaks against it, because a single choice is no choice."""
    signals = decision.signals or {}
    if best.guesses or decision.confidence >= SURE:
        return decision.confidence >= (ANSWER if best.guesses else SURE)
    if signals["doubts"] or signals["left_over"] or signals["empty"]:
        return False
    if count == 1:
        return signals["cost"] <= LONELY_COST
    return decision.confidence >= ASSUME and signals["margin"] >= CLOSE and signals["cost"] <= PLAIN_COST


def merge(candidates: Sequence[Candidate], results: Mapping[str, Result]) -> list[Candidate]:
    """Return one candidate per different result, best first, scored with what the result shows. A result without rows
    speaks against a reading only if another reading has rows."""
    best: dict[Any, Candidate] = {}
    has_rows = any(not each.error and not result_features(each) for each in results.values())
    for candidate in candidates:
        result = results.get(candidate.id)
        if result is None or result.error:
            continue
        features = result_features(result) if has_rows else []
        score = candidate.score + sum(WEIGHTS[name] * amount for name, amount in features)
        scored = replace(candidate, score=score, features=(*candidate.features, *features))
        key = fingerprint(result.rows)
        if key not in best or best[key].score < score:
            best[key] = scored
    return sorted(best.values(), key=lambda each: -each.score)


def result_features(result: Result) -> list[tuple[str, float]]:
    """An answer without rows, or with nothing but zeros or missing values, is suspicious."""
    if result.rows and all(cell is None for row in result.rows for cell in row):
        return [("null_result", 1.0)]
    if result.rows and not (len(result.rows) == 1 and all(cell == 0 for cell in result.rows[0])):
        return []
    return [("empty_result", 1.0)]


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
    best = groups[0]
    amounts: dict[str, float] = {}
    for name, amount in best.features:
        amounts[name] = amounts.get(name, 0.0) + amount
    cue = amounts.get("follow_cue", 0.0)
    # A short follow-up often has one reading only, which speaks for it.
    is_alone = len(groups) == 1 and cue < 1
    lonely_margin = 0.0 if is_alone else 2.0
    margin = best.score - groups[1].score if len(groups) > 1 else lonely_margin
    parts = [WEIGHTS[name] * amount for name, amount in best.features]
    return {
        "margin": min(margin, 3.0),
        "alone": float(is_alone),
        "unexplained": min(float(len(set(best.unexplained))), 3.0),
        "guesses": min(float(len(best.guesses)), 2.0),
        "cost": min(-sum(part for part in parts if part < 0), 8.0),
        "support": min(sum(part for part in parts if part > 0), 6.0),
        "left_over": min(amounts.get("left_over", 0.0), 2.0),
        "joins": min(amounts.get("join", 0.0), 4.0),
        "conditions": float(min(best.frame.conditions, 4)),
        "doubts": float(sum(bool(amounts.get(name)) for name in DOUBTS)),
        "default_aggregate": min(amounts.get("default_aggregate", 0.0), 2.0),
        "follow_up": min(max(cue, 0.0), 1.5),
        "empty": amounts.get("empty_result", 0.0) + amounts.get("null_result", 0.0),
    }


def teaches(chosen: Candidate, runner_up: Candidate) -> list[tuple[str, Any]]:
    """Return what choosing one candidate over another teaches: words and what they mean. A difference in grain, limit
    or order concerns this question only and teaches nothing."""
    other = dict(runner_up.links)
    return [
        (words, target) for words, target in chosen.links
        if words in other and other[words] != target
    ]  # fmt: skip
