"""Worth: whether a statement is worth remembering for months, and as what kind, judged by its words. Pure.

A statement is a run of clauses of one sentence that no gate closes. A linear model weighs its words, its pairs of
neighbouring words, and the words next to it; of Chinese, characters instead of words. The weights were fitted by
bench/fit_worth.py on the labelled messages in bench/data/messages_fit_*.jsonl, which also says how sure it is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import dropwhile, pairwise

from recollect.learning.gates import Clause
from recollect.values.memory import Span

REQUEST = "request"  # the one gate that closes no statement: what is asked for from now on is worth keeping
WEIGHTS = "worth.tsv"  # a feature a line, its weights in tenths
BIAS, TENTHS = "", 10
KINDS = (
    *("nothing", "identity", "preference", "constraint", "instruction", "decision", "todo", "definition"),
    *("terminology", "fact"),
)
TOKEN = re.compile(r"[a-z]+(?:'[a-z]+)?|\d+|[\u3400-\u9fff]|[^\w\s]")
NAME = re.compile(r"(?<=[a-z,] )[A-Z]")
LINKS = frozenset(("and", "but", "so", "because", "also", ",", "，"))  # at the beginning they say nothing
BESIDE = 3  # words before and after a statement that are features of it
BESIDE_CHARS = 40  # in which they are looked for
LENGTH_STEP, LONGEST = 5, 6  # words to a step of length, and the last step


@dataclass(frozen=True, slots=True)
class Statement:
    """A run of open clauses, by its place in a text."""

    span: Span
    is_requested: bool = False


@dataclass(frozen=True, slots=True)
class Worth:
    """The most probable kind of a statement if it is worth keeping, how probable that kind is then, and how probable it
    is that the statement is worth keeping."""

    kind: str
    kind_probability: float
    probability: float


def list_statements(clauses: Sequence[Clause], start: int, taken: Collection[Span] = ()) -> list[Statement]:
    """Return the runs of a sentence's clauses that are neither closed by a gate nor taken by a rule. `start` is the
    place of the sentence in the text, `taken` are places in the text."""
    runs: list[Statement] = []
    for clause in clauses:
        first, last = start + clause.span[0], start + clause.span[1]
        if any(reason != REQUEST for reason in clause.reasons) or any(one < last and first < end for one, end in taken):
            continue
        is_requested = REQUEST in clause.reasons
        if runs and runs[-1].span[1] == first:
            before = runs.pop()
            first, is_requested = before.span[0], is_requested or before.is_requested
        runs.append(Statement((first, last), is_requested))
    return runs


def judge_statement(text: str, statement: Statement) -> Worth:
    """Return how much a statement of a text is worth."""
    weights = load_weights()
    rows = [weights[name] for name in (BIAS, *list_features(text, statement)) if name in weights]
    scores = [sum(column) / TENTHS for column in zip(*rows, strict=True)]
    nothing, *kinds = (math.exp(score - max(scores)) for score in scores)
    best = max(kinds)
    return Worth(KINDS[1 + kinds.index(best)], best / sum(kinds), sum(kinds) / (sum(kinds) + nothing))


def list_features(text: str, statement: Statement) -> list[str]:
    """Return the features of a statement, each once."""
    start, end = statement.span
    said = text[start:end]
    words = ["^", *dropwhile(LINKS.__contains__, split_words(said)), "$"]
    found = [*words, *(f"{one} {other}" for one, other in pairwise(words))]
    found += (f"< {word}" for word in split_words(text[max(0, start - BESIDE_CHARS) : start])[-BESIDE:])
    found += (f"> {word}" for word in split_words(text[end : end + BESIDE_CHARS])[:BESIDE])
    found.append(f"~length {min(len(words) // LENGTH_STEP, LONGEST)}")
    signs = {"~requested": statement.is_requested, "~begins": not text[:start].strip(), "~named": NAME.search(said)}
    return list(dict.fromkeys([*found, *(sign for sign, holds in signs.items() if holds)]))


def split_words(text: str) -> list[str]:
    """Return words, Chinese characters and marks; all numbers are one word."""
    return ["#" if word.isdigit() else word for word in TOKEN.findall(text.lower())]


@cache
def load_weights() -> Mapping[str, Sequence[int]]:
    """Return the weights of each feature, one for each of KINDS."""
    lines = files("recollect.learning.rules").joinpath(WEIGHTS).read_text("utf-8").splitlines()
    rows = (line.split("\t") for line in lines)
    return {name: tuple(map(int, weights.split())) for name, weights in rows}
