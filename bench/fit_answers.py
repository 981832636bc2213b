"""`python -m bench.fit_answers FILE...`: fit the weights of recall/answer_ranking.py and learning/changes.py on stories
that may be read (`*_open`, `*_read`, `*_dev2`), and print them with the shares of right and current answers on each
file, as estimated by weights that were fitted on the other files.

The ranking is fitted by listwise softmax, the probability that the best message answers, and that a later message
changes it, by logistic regression.
"""

from __future__ import annotations

import asyncio
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from dataclasses import fields as fields_of
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.dialogues import list_spellings
from bench.stories import find_value, open_chat, read_stories, tell_story
from recollect.apps.chat.answers import select_statements
from recollect.apps.chat.assistant import FALLBACK, LIMITS
from recollect.learning.changes import Signs, compare, place_messages, rate_matter
from recollect.learning.rules import rulebooks
from recollect.recall.answer_ranking import (
    LEAST_SPAN,
    Confidence,
    Features,
    Relevance,
    compute_features,
    read_confidence,
)
from recollect.values.query import Hit, Query, Recall
from recollect.values.scope import Scope

Floats = NDArray[np.float64]
RANKING = ("covered", "nearby", "ahead", "similar", "typed", "subject")
PLACES = {name: place for place, name in enumerate(Features.__slots__)}
COLUMNS = [PLACES[name] for name in RANKING]
DOUBTFUL = 0.3  # probability that two messages are about the same matter, up to which they are not compared


@dataclass(frozen=True, slots=True)
class Case:
    """A question with its candidates. `right`: they have an answer; `stale`: only one that does not hold any more."""

    file: str
    is_update: bool
    question: dict[str, Any]
    hits: Sequence[Hit]
    features: Floats
    right: Floats
    stale: Floats

    @property
    def changed(self) -> Floats:
        """Which messages say what holds now; if nothing does, those that name the old value again."""
        return self.right if self.right.any() else self.stale

    @property
    def relevant(self) -> Floats:
        return np.maximum(self.right, self.stale)


async def collect_cases(paths: Sequence[Path]) -> list[Case]:
    cases = []
    async with open_chat() as (memory, _):
        for path in paths:
            is_update = path.name.startswith("updates")
            for story in read_stories(path):
                async with tell_story(memory, story) as scope:
                    for given in story.questions:
                        for question in [dict(given)] if is_update else list_spellings(given):
                            query = Query(question["text"], recent=0, exclude=("-#0",), fallback=FALLBACK, **LIMITS)
                            context = await memory.context(Scope(scope.user, None, scope.project), query)
                            cases.append(build_case(path.stem, is_update, question, context.recall))
    return [case for case in cases if len(case.hits)]


def build_case(file: str, is_update: bool, question: dict[str, Any], recall: Recall) -> Case:
    hits = select_statements(recall, rulebooks(), False)
    features = np.array([astuple(each) for each in compute_features(recall, hits)])
    values = question["current"] if is_update else question["answer"]
    right = np.array([float(find_value(hit.text, values) is not None) for hit in hits])
    stale = np.array([float(find_value(hit.text, question.get("stale", ())) is not None) for hit in hits])
    return Case(file, is_update, question, hits, features, right, stale * (1 - right))


def fit_ranking(cases: Sequence[Case], penalty: float = 0.02, steps: int = 200) -> Floats:
    """Return weights under which a relevant message has the highest total."""
    used = [case for case in cases if case.relevant.any() and not case.relevant.all()]
    everything = np.concatenate([case.features[:, COLUMNS] for case in used])
    scale = everything.std(axis=0) + 1e-6
    weights, first, second = (np.zeros(len(COLUMNS)) for _ in range(3))
    for step in range(1, steps + 1):
        slope = penalty * weights
        for case in used:
            rows = case.features[:, COLUMNS] / scale
            share = softmax(rows @ weights)
            wanted = share * case.relevant
            slope = slope + rows.T @ (share - wanted / wanted.sum()) / len(used)
        first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
        weights = weights - 0.05 * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    return np.asarray(weights / scale)


def softmax(totals: Floats) -> Floats:
    powers = np.exp(totals - totals.max())
    return np.asarray(powers / powers.sum())


def fit_logistic(rows: Floats, labels: Floats, penalty: float = 3.0) -> Floats:
    """Return weights and a bias, by Newton's method."""
    middle, scale = rows.mean(axis=0), rows.std(axis=0) + 1e-6
    scaled = np.hstack([(rows - middle) / scale, np.ones((len(rows), 1))])
    ridge = np.diag([penalty] * rows.shape[1] + [1e-6])
    weights = np.zeros(scaled.shape[1])
    for _ in range(30):
        odds = 1 / (1 + np.exp(-scaled @ weights))
        slope = scaled.T @ (odds - labels) + ridge @ weights
        weights = weights - np.linalg.solve((scaled * (odds * (1 - odds))[:, None]).T @ scaled + ridge, slope)
    plain = weights[:-1] / scale
    return np.append(plain, weights[-1] - plain @ middle)


def collect_confidence(cases: Sequence[Case], ranking: Floats) -> tuple[Floats, Floats]:
    """Return, for the best message of each question, what speaks for it, and whether it is relevant."""
    rows, labels = [], []
    for case in cases:
        totals = case.features[:, COLUMNS] @ ranking
        best = int(totals.argmax())
        rows.append(astuple(read_confidence(sorted(totals.tolist(), reverse=True), Features(*case.features[best]))))
        labels.append(case.relevant[best])
    return np.array(rows), np.array(labels)


def collect_changes(case: Case, ranking: Floats, old: int) -> tuple[Floats, list[int]]:
    """Return the signs that later messages about the same matter change one message, and their places."""
    order = sorted(range(len(case.hits)), key=lambda place: get_order(case.hits[place]))
    totals = case.features[:, COLUMNS] @ ranking
    scores = (totals - np.median(totals)) / max(float(totals.max() - np.median(totals)), LEAST_SPAN)
    covered, typed = case.features[:, PLACES["covered"]], case.features[:, PLACES["typed"]]
    relevance = [Relevance(float(scores[n]), float(covered[n]), float(typed[n])) for n in order]
    said = place_messages([case.hits[place].text for place in order], relevance)
    earlier = said[order.index(old)]
    rows, places = [], []
    for later in said[earlier.place + 1 :]:
        pairs = zip(earlier.message.statements, earlier.about, strict=True)
        signs = [compare(one, earlier, later) for one, who in pairs if rate_matter(one, who, earlier, later) > DOUBTFUL]
        if signs:
            rows.append(astuple(max(signs, key=lambda each: each.overlap)))
            places.append(order[later.place])
    return np.array(rows).reshape(-1, len(fields_of(Signs))), places


def get_order(hit: Hit) -> tuple[Any, int]:
    return hit.turn.at, hit.turn.index or 0


def collect_pairs(cases: Sequence[Case], ranking: Floats) -> tuple[Floats, Floats]:
    rows, labels = [], []
    for case in cases:
        best = np.argsort(case.features[:, COLUMNS] @ ranking)[::-1][:2]
        for old in {*best.tolist(), *np.flatnonzero(case.stale).tolist()}:
            signs, places = collect_changes(case, ranking, old)
            rows.append(signs)
            labels += [float(case.stale[old] and case.changed[place]) for place in places]
    return np.vstack(rows), np.array(labels)


def find_current(case: Case, ranking: Floats, change: Floats, least: float) -> list[int]:
    """Return the best message, and the messages that change it one after the other."""
    chain = [int((case.features[:, COLUMNS] @ ranking).argmax())]
    while True:
        signs, places = collect_changes(case, ranking, chain[-1])
        odds = 1 / (1 + np.exp(-(signs @ change[:-1] + change[-1]))) if places else np.zeros(0)
        if not places or odds.max() < least:
            return chain
        likely = [place for place, each in zip(places, odds, strict=True) if each >= max(least, odds.max() / 2)]
        chain.append(max(likely, key=lambda place: get_order(case.hits[place])))


def report(cases: Sequence[Case]) -> None:
    """Print what weights fitted on the other files do on each file."""
    shares: dict[tuple[str, float], list[float]] = defaultdict(list)
    sure: dict[tuple[str, float], list[float]] = defaultdict(list)
    for file in sorted({case.file for case in cases}):
        others, own = [c for c in cases if c.file != file], [c for c in cases if c.file == file]
        ranking = fit_ranking(others)
        confidence = fit_logistic(*collect_confidence([c for c in others if not c.is_update], ranking))
        change = fit_logistic(*collect_pairs(others, ranking))
        for case in own:
            rows, _ = collect_confidence([case], ranking)
            odds = float(1 / (1 + np.exp(-(rows[0] @ confidence[:-1] + confidence[-1]))))
            for least in (0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 9.0):
                if case.right.any():
                    shares[file, least].append(case.right[find_current(case, ranking, change, least)[-1]])
            for least in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
                sure[f"{file} {'answerable' if case.right.any() else 'unanswerable'}", least].append(odds >= least)
    for name, table in (("right if changed from", shares), ("confident from", sure)):
        for (file, least), values in sorted(table.items()):
            sys.stdout.write(f"{file}: {name} {least}: {np.mean(values):.3f} of {len(values)}\n")


def main() -> None:
    cases = asyncio.run(collect_cases([Path(name) for name in sys.argv[1:]]))
    ranking = fit_ranking(cases)
    confidence = fit_logistic(*collect_confidence([case for case in cases if not case.is_update], ranking))
    change = fit_logistic(*collect_pairs(cases, ranking))
    for title, names, weights in (
        ("ranking", RANKING, ranking),
        ("confidence", (*Confidence.__slots__, "bias"), confidence),
        ("change", (*(field.name for field in fields_of(Signs)), "bias"), change),
    ):
        sys.stdout.write(f"{title}: {dict(zip(names, weights.round(2).tolist(), strict=True))}\n")
    report(cases)


if __name__ == "__main__":
    main()
