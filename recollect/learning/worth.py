"""Worth: whether a statement is worth remembering for months, and as what kind, judged by its words. Pure.

A statement is a run of clauses of one sentence that no gate closes. A linear model weighs its words, its pairs of
neighbouring words, the words before it, and whether it points at something that it does not name; of Chinese,
characters instead of words. The weights were fitted by bench/fit_worth.py on the labelled messages in
bench/data/messages_fit_*.jsonl, which also says how sure it is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import dropwhile, pairwise
from typing import cast

from recollect.learning.gates import QUOTATION, Clause, is_term
from recollect.learning.rulebook import Rulebook, compile_pattern
from recollect.recall.word_lists import STOP_WORDS
from recollect.values.memory import DEFINES, Category, Span

# Gates that close no statement: what is asked for from now on is worth keeping, and so are plans. A clause about
# somebody else belongs to the statement that it continues.
REQUEST, PLANNED, OTHERS = "request", "planned", "others"
WEIGHTS = "worth.tsv"  # a feature a line, its weights in tenths
BIAS, TENTHS = "", 10
SURE_KIND = 0.5  # probability among the kinds from which a statement is of one; other preferences are seldom facts
KINDS = (
    *("nothing", "identity", "preference", "constraint", "instruction", "decision", "todo", "definition"),
    *("terminology", "fact"),
)
TOKEN = re.compile(r"[A-Za-z]+(?:'[a-z]+)?|\d+|[\u3400-\u9fff]|[^\w\s]")
NAME = re.compile(r"[A-Z][a-z]+")
LINKS = frozenset(("and", "but", "so", "because", "also", ",", "，"))  # at the beginning they say nothing
BEFORE, BEFORE_CHARS = 3, 40  # words before a statement that are features of it, and where they are looked for
POINTING = re.compile("it|them|that|this|these|those|they|he|she|him|her|here|there|ones?|so")
NAMING = 2  # words with a meaning of their own, after which a pointing word may mean one of them
WORTHY = 0.7  # probability from which a statement is kept
WORTHY_AS = {"preference": 0.6, "instruction": 0.65, "todo": 0.55, "definition": 0.5, "terminology": 0.5}
WORTHY_BINDING = 0.4  # of one about an allergy or the like: to miss it does harm
DESCRIPTIVE = ("identity", "preference", "constraint", "fact")  # kinds between which the topic decides
LENGTH_STEP, LONGEST = 5, 6  # words to a step of length, and the last step


@dataclass(frozen=True, slots=True)
class Statement:
    """A run of open clauses, by its place in a text."""

    span: Span
    is_requested: bool = False


@dataclass(frozen=True, slots=True)
class Worth:
    """The most probable kind of a statement, "fact" if none is, and how probably it is worth keeping."""

    kind: str
    probability: float


def list_statements(clauses: Sequence[Clause], start: int, taken: Collection[Span] = ()) -> list[Statement]:
    """Return the runs of a sentence's clauses that are neither closed by a gate nor taken by a rule. `start` is the
    place of the sentence in the text, `taken` are places in the text."""
    return [join_parts(run) for run in list_runs(clauses, start, taken)]


def list_runs(clauses: Sequence[Clause], start: int, taken: Collection[Span] = ()) -> list[list[Statement]]:
    """Return the clauses of each statement, as statements."""
    runs: list[list[Statement]] = []
    for clause in clauses:
        first, last = start + clause.span[0], start + clause.span[1]
        follows = bool(runs) and runs[-1][-1].span[1] == first
        is_open = {REQUEST, PLANNED, OTHERS if follows else REQUEST}.issuperset(clause.reasons)
        if not is_open or any(one < last and first < end for one, end in taken):
            continue
        if not follows:
            runs.append([])
        runs[-1].append(Statement((first, last), REQUEST in clause.reasons))
    return runs


def join_parts(parts: Sequence[Statement]) -> Statement:
    """Return neighbouring statements as one."""
    return Statement((parts[0].span[0], parts[-1].span[1]), any(part.is_requested for part in parts))


def judge_statement(text: str, statement: Statement) -> Worth:
    """Return how much a statement of a text is worth."""
    weights = load_weights()
    rows = [weights[name] for name in (BIAS, *list_features(text, statement)) if name in weights]
    scores = [sum(column) / TENTHS for column in zip(*rows, strict=True)]
    nothing, *kinds = (math.exp(score - max(scores)) for score in scores)
    best = max(kinds)
    kind = KINDS[1 + kinds.index(best)]
    is_sure = kind == "preference" or best >= SURE_KIND * sum(kinds)
    return Worth(kind if is_sure else "fact", sum(kinds) / (sum(kinds) + nothing))


def split_run(text: str, run: Sequence[Statement], book: Rulebook) -> list[Statement]:
    """Return the parts of a statement that say something each: one begins at a clause with a subject of its own that
    does not refer to what is before it, if both are worth keeping without each other."""
    parts: list[Statement] = []
    for clause in run:
        is_new = parts and begins_anew(text, clause, book) and not is_referring(text, clause, book)
        is_new = is_new and is_worthy(text, parts[-1], book)
        if parts and not (is_new and is_worthy(text, clause, book)):
            clause = join_parts((parts.pop(), clause))
        parts.append(clause)
    return parts


def is_worthy(text: str, statement: Statement, book: Rulebook) -> bool:
    worth, is_binding = judge_statement(text, statement), book.find_topic(text[slice(*statement.span)], "constraint")
    return worth.probability >= (WORTHY_BINDING if is_binding else WORTHY_AS.get(worth.kind, WORTHY))


def begins_anew(text: str, part: Statement, book: Rulebook) -> bool:
    """Return whether a part of a sentence has a subject of its own."""
    return compile_pattern(book.subject).match(text[slice(*part.span)]) is not None


def is_referring(text: str, part: Statement, book: Rulebook) -> bool:
    """Return whether a part of a sentence may refer to what is before it."""
    return compile_pattern(book.referring).search(text[slice(*part.span)]) is not None


def is_pointing(text: str, clause: Statement, book: Rulebook) -> bool:
    return compile_pattern(book.pointing).match(text[slice(*clause.span)]) is not None


def name_statement(worth: Worth, said: str, book: Rulebook) -> tuple[Category, str]:
    """Return category and key of a statement: the key is its topic, or the category. One about a term is known by the
    term, if that is in quotation marks."""
    if worth.kind in DEFINES:
        term = next((found[0][1:-1] for found in QUOTATION.finditer(said) if is_term(found[0][1:-1])), "").casefold()
        category: Category = "instruction" if worth.kind == "terminology" else "fact"
        return (category, f"definition:{term}") if term else ("fact", "fact")
    return find_home(said, cast(Category, worth.kind), book)


def find_home(said: str, kind: Category, book: Rulebook) -> tuple[Category, str]:
    """Return the category and key of what a statement of a kind is about: the kind itself if it has no topic."""
    homes: Sequence[Category] = ("fact", kind, "constraint", "identity") if kind in DESCRIPTIVE else (kind,)
    named = ((home, book.find_topic(said, home)) for home in homes)
    return next((found for found in named if found[1]), (kind, kind))


def list_features(text: str, statement: Statement) -> list[str]:
    """Return the features of a statement, each once."""
    start, end = statement.span
    words = ["^", *dropwhile(LINKS.__contains__, split_words(text[start:end])), "$"]
    found = [*words, *(f"{one} {other}" for one, other in pairwise(words))]
    found += (f"< {word}" for word in split_words(text[max(0, start - BEFORE_CHARS) : start])[-BEFORE:])
    found += (f"~points after {named}" for named in list_pointed(words[1:-1]))
    found.append(f"~length {min(len(words) // LENGTH_STEP, LONGEST)}")
    signs = {"~requested": statement.is_requested, "~begins": not text[:start].strip()}
    return list(dict.fromkeys([*found, *(sign for sign, holds in signs.items() if holds)]))


def split_words(text: str) -> list[str]:
    """Return words, Chinese characters and marks. All numbers are one word, and so are all names but at the
    beginning, where any word has a capital."""
    return [name_word(found[0], found.start()) for found in TOKEN.finditer(text)]


def name_word(word: str, start: int) -> str:
    if word.isdigit():
        return "#"
    is_name = start > 0 and NAME.fullmatch(word) is not None and word.lower() not in STOP_WORDS
    return "@" if is_name else word.lower()


def list_pointed(words: Sequence[str]) -> Iterator[int]:
    """Yield how many words with a meaning of their own stand before each pointing word, if too few for it to mean one
    of them."""
    named = 0
    for word in words:
        if named >= NAMING:
            return
        if POINTING.fullmatch(word):
            yield named
        named += word not in STOP_WORDS and (word[0].isalpha() or word in "#@")


@cache
def load_weights() -> Mapping[str, Sequence[int]]:
    """Return the weights of each feature, one for each of KINDS."""
    lines = files("recollect.learning.rules").joinpath(WEIGHTS).read_text("utf-8").splitlines()
    rows = (line.split("\t") for line in lines)
    return {name: tuple(map(int, weights.split())) for name, weights in rows}
