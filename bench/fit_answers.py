"""`python -m bench.fit_answers FILE...`: fit the weights of recall/answer_ranking.py and learning/changes.py on stories
that may be read (`*_open`, `*_read`, `*_dev2`), and print them with the shares of right and current answers on each
file, as estimated by weights that were fitted on the other files.

The ranking is fitted by listwise softmax, the probability that the best message answers, and that a later message
changes it, by logistic regression.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.dialogues import list_spellings
from bench.stories import find_value, open_chat, read_stories, tell_story
from recollect.apps.chat.answers import select_statements
from recollect.apps.chat.assistant import FALLBACK, LIMITS
from recollect.learning.changes import WEIGHTS, Signs, Vectors, compare_all, place_messages, read_statements
from recollect.learning.rules import rulebooks
from recollect.providers.local import LocalEmbedder
from recollect.recall.answer_ranking import (
    Confidence,
    Features,
    compute_features,
    list_words,
    rate_relevance,
    read_confidence,
    spell_question,
)
from recollect.recall.word_lists import ASKS_PAST
from recollect.values.query import Hit, Query, Recall
from recollect.values.scope import Scope

Floats = NDArray[np.float64]
RANKING = ("covered", "nearby", "ahead", "similar", "typed", "subject")
PLACES = {name: place for place, name in enumerate(Features.__slots__)}
COLUMNS = [PLACES[name] for name in RANKING]
EMBEDDER = LocalEmbedder()
LEAST_RELEVANCE = 0.4  # of a message to the question, if it may be its answer
SIGNS = Signs._fields
NOT_FITTED = ("asked", "edits", "numbers", "times")  # set by hand, or for learning alone


@dataclass(frozen=True, slots=True)
class Case:
    """A question with its candidates. `right`: they have an answer; `stale`: only one that does not hold any more."""

    file: str
    is_update: bool
    question: dict[str, Any]
    hits: Sequence[Hit]
    recall: Recall
    vectors: Vectors
    features: Floats
    right: Floats
    stale: Floats

    @property
    def relevant(self) -> Floats:
        return np.maximum(self.right, self.stale)


async def collect_cases(paths: Sequence[Path]) -> list[Case]:
    cases = []
    async with open_chat() as (memory, _):
        for path in paths:
            is_update = path.name.startswith(("updates", "corrections"))
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
    words = {word for hit in recall.hits for word in list_words(hit.text)}
    said = {each.text for hit in recall.hits for each in read_statements(hit.text)}
    texts = [*words, *said, spell_question(recall)]
    vectors = dict(zip(texts, EMBEDDER.embed_now(texts), strict=True))
    return Case(file, is_update, question, hits, recall, vectors, features, right, stale * (1 - right))


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


def fit_logistic(rows: Floats, labels: Floats, penalty: float = 3.0, offset: Floats | float = 0.0) -> Floats:
    """Return weights and a bias, by Newton's method. `offset` is what is known of the total."""
    middle, scale = rows.mean(axis=0), rows.std(axis=0) + 1e-6
    scaled = np.hstack([(rows - middle) / scale, np.ones((len(rows), 1))])
    ridge = np.diag([penalty] * rows.shape[1] + [1e-6])
    weights = np.zeros(scaled.shape[1])
    for _ in range(30):
        odds = 1 / (1 + np.exp(-(scaled @ weights + offset)))
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


def collect_pairs(cases: Sequence[Case]) -> tuple[Floats, Floats]:
    """Return the signs of each statement and each later message, and whether the message changes the statement."""
    rows, labels = [], []
    for case in cases:
        told = sorted((hit for hit in case.recall.hits if hit.turn.role == "user"), key=get_order)
        texts, relevance = [hit.text for hit in told], rate_relevance(case.recall, told)
        old, new = list_values(case.question)
        asked = spell_question(case.recall)
        found = compare_all(place_messages(texts, relevance), case.vectors, asked)
        for one, other in np.argwhere(found.fits):
            statement, by = found.statements[one][0].text, texts[found.messages[other].place]
            is_change = find_value(by, new or old) is not None and find_value(statement, new) is None
            rows.append(found.signs[one, other])
            labels.append(float(is_change and find_value(statement, old) is not None))
    return np.array(rows), np.array(labels)


def list_values(question: Mapping[str, Any]) -> tuple[Sequence[str], Sequence[str]]:
    """Return the values before and after the change; of what only ended, how it was said. In a dialogue without changes
    there are none."""
    if "stale" not in question:
        return (), ()
    old, new = question["stale"], question["current"] or question.get("ended_words", ())
    return (new, old) if ASKS_PAST.search(question["text"]) else (old, new)


def fit_change(cases: Sequence[Case]) -> Floats:
    """Return weights and a bias of the signs that are used with a question; that of `edits` is set by hand."""
    rows, labels = collect_pairs(cases)
    edits = SIGNS.index("edits")
    fitted = [place for place, name in enumerate(SIGNS) if name not in NOT_FITTED]
    found = fit_logistic(rows[:, fitted], labels, offset=WEIGHTS.edits * rows[:, edits])
    weights = np.zeros(len(SIGNS) + 1)
    weights[fitted], weights[edits], weights[-1] = found[:-1], WEIGHTS.edits, found[-1]
    return weights


def get_order(hit: Hit) -> tuple[Any, int]:
    return hit.turn.at, hit.turn.index or 0


def report(cases: Sequence[Case]) -> None:
    """Print what weights fitted on the other files do on each file."""
    for file in sorted({case.file for case in cases}):
        others, own = [c for c in cases if c.file != file], [c for c in cases if c.file == file]
        ranking, change = fit_ranking(others), fit_change(others)
        confidence = fit_logistic(*collect_confidence([c for c in others if not c.is_update], ranking))
        show_shares(f"{file}: confident answers", *collect_confidence(own, ranking), confidence)
        rows, labels = collect_pairs(own)
        near = rows[:, SIGNS.index("earlier")] >= LEAST_RELEVANCE
        show_shares(f"{file}: changes", rows[near], labels[near], change)


def show_shares(title: str, rows: Floats, labels: Floats, weights: Floats) -> None:
    odds = 1 / (1 + np.exp(-(rows @ weights[:-1] + weights[-1])))
    for least in (0.12, 0.2, 0.3, 0.5, 0.85):
        found, right = odds >= least, labels > 0
        precision, recall = (right & found).sum() / max(found.sum(), 1), (right & found).sum() / max(right.sum(), 1)
        sys.stdout.write(f"{title} from {least}: precision {precision:.3f}, recall {recall:.3f} of {right.sum()}\n")


def main() -> None:
    cases = asyncio.run(collect_cases([Path(name) for name in sys.argv[1:]]))
    ranking = fit_ranking(cases)
    confidence = fit_logistic(*collect_confidence([case for case in cases if not case.is_update], ranking))
    change = fit_change(cases)
    for title, names, weights in (
        ("ranking", RANKING, ranking),
        ("confidence", (*Confidence.__slots__, "bias"), confidence),
        ("change", (*SIGNS, "bias"), change),
    ):
        sys.stdout.write(f"{title}: {dict(zip(names, weights.round(2).tolist(), strict=True))}\n")
    report(cases)


if __name__ == "__main__":
    main()
