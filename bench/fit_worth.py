"""`python -m bench.fit_worth FILE...`: fit learning/worth.py on labelled messages, one JSON object a line.

    {"text": ..., "facts": [{"kind": ..., "value": ..., "clause": ...}]}     values and clauses are parts of the text

Prints how well the statements of each file are judged by a model that was fitted on the other files, and with
`--write` writes the model that was fitted on all of them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from bench.evaluation import read_numbered_lines
from recollect.learning.extract import TurnReader
from recollect.learning.gates import gate_clauses
from recollect.learning.rulebook import compile_pattern
from recollect.learning.rules import rulebooks
from recollect.learning.worth import BIAS, KINDS, TENTHS, WEIGHTS, list_features, list_statements
from recollect.recall.sentences import sentences
from recollect.values.memory import Span

Floats = NDArray[np.float64]
TARGET = Path(__file__).parent.parent / "recollect/learning/rules" / WEIGHTS
RARE = 3  # features of fewer statements are left out
WEAK = 2  # tenths; features without a larger weight are left out, too
EPOCHS, RATE, SHRINK = 10, 0.07, 8e-3
PRECISIONS = (0.95, 0.92, 0.9, 0.85)
HALF = 0.5  # of a value that must be within a statement


@dataclass(frozen=True, slots=True)
class Example:
    """A statement with its features and its kind; `is_partial` if it belongs to a fact but does not state it."""

    file: str
    features: Sequence[str]
    kind: int
    is_partial: bool


def fit(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", exists=True, dir_okay=False)],
    write: Annotated[bool, typer.Option(help="Write the model into the package.")] = False,
) -> None:
    examples = [example for path in files for example in read_examples(path)]
    for path in files if len(files) > 1 else ():
        known = Fitted([each for each in examples if each.file != path.name and not each.is_partial])
        typer.echo(f"{path.name}: {describe(known, [each for each in examples if each.file == path.name])}")
    if write:
        fitted = Fitted([each for each in examples if not each.is_partial])
        TARGET.write_text(fitted.dump(), "utf-8")
        typer.echo(f"{len(fitted.places)} features of {len(examples)} statements: {TARGET.stat().st_size:,} bytes")


def read_examples(path: Path) -> Iterator[Example]:
    books = rulebooks()
    for _, line in read_numbered_lines(path):
        message = json.loads(line)
        reading = TurnReader(message["text"])
        if reading.is_turned_away(books):
            continue
        abbreviations = frozenset[str]().union(*(book.abbreviations for book in books))
        for span in sentences(reading.text, abbreviations):
            sentence = reading.text[slice(*span)]
            book = next((book for book in books if compile_pattern(book.script).search(sentence)), books[0])
            for statement in list_statements(gate_clauses(sentence, book), span[0]):
                kind, is_partial = find_label(statement.span, message)
                yield Example(path.name, list_features(reading.text, statement), kind, is_partial)


def find_label(span: Span, message: Mapping[str, Any]) -> tuple[int, bool]:
    """Return the kind of a statement, and whether it is only a part of a fact's clause."""
    is_partial = False
    for fact in message["facts"]:
        value, clause = fact["value"], fact.get("clause") or fact["value"]
        begin = message["text"].find(clause)
        at = begin + clause.find(value)
        if min(span[1], at + len(value)) - max(span[0], at) >= len(value) * HALF:
            return KINDS.index(fact["kind"]), False
        is_partial |= min(span[1], begin + len(clause)) > max(span[0], begin)
    return 0, is_partial


class Fitted:
    """A softmax model, fitted by gradient descent with a rate for each weight (Adagrad)."""

    def __init__(self, examples: Sequence[Example]) -> None:
        counts = Counter(feature for example in examples for feature in example.features)
        self.places = {name: at for at, name in enumerate(sorted(name for name, n in counts.items() if n >= RARE))}
        self.weights: Floats = np.zeros((len(self.places), len(KINDS)))
        self.bias: Floats = np.zeros(len(KINDS))
        rows = [self.find_places(example.features) for example in examples]
        seen, seen_bias = np.full_like(self.weights, 1e-2), np.full_like(self.bias, 1e-2)
        random = np.random.default_rng(0)
        for _ in range(EPOCHS):
            for at in random.permutation(len(rows)):
                slope = self.predict(rows[at])
                slope[examples[at].kind] -= 1
                slopes = slope + SHRINK * self.weights[rows[at]]
                seen[rows[at]] += slopes**2
                self.weights[rows[at]] -= RATE * slopes / np.sqrt(seen[rows[at]])
                seen_bias += slope**2
                self.bias -= RATE * slope / np.sqrt(seen_bias)

    def find_places(self, features: Sequence[str]) -> NDArray[np.int64]:
        return np.array([self.places[name] for name in features if name in self.places], np.int64)

    def predict(self, row: NDArray[np.int64]) -> Floats:
        scores = self.bias + self.weights[row].sum(0)
        odds = np.exp(scores - scores.max())
        shares: Floats = odds / odds.sum()
        return shares

    def dump(self) -> str:
        """Return the model as a table: a feature a line, its weights for each kind in tenths."""
        weights = np.rint(np.vstack([self.bias, self.weights]) * TENTHS).astype(int)
        rows = zip([BIAS, *self.places], weights, strict=True)
        return "".join(f"{name}\t{' '.join(map(str, row))}\n" for name, row in rows if np.abs(row).max() > WEAK)


def describe(fitted: Fitted, examples: Sequence[Example]) -> str:
    """Return the share of worthy statements that are found at some precisions, and of kinds that are right."""
    judged = [example for example in examples if not example.is_partial]
    found = np.array([fitted.predict(fitted.find_places(example.features)) for example in judged])
    kinds = np.array([example.kind for example in judged])
    order = np.argsort(found[:, 0])
    worthy = kinds[order] > 0
    precision = np.cumsum(worthy) / np.arange(1, len(worthy) + 1)
    shares = []
    for wanted in PRECISIONS:
        enough = np.flatnonzero(precision >= wanted)
        count = int(enough[-1]) + 1 if len(enough) else 0
        threshold = 1 - found[order[max(count - 1, 0)], 0]
        shares.append(f"{worthy[:count].sum() / worthy.sum():.2f} at {wanted} (from {threshold:.2f})")
    right = (found[:, 1:].argmax(1) + 1 == kinds)[kinds > 0].mean()
    return f"{len(judged)} statements, found {', '.join(shares)}; kind right {right:.2f}"


if __name__ == "__main__":
    typer.run(fit)
