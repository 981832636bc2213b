"""Claims: what a language model says a user stated, and the gates that each claim must pass to become a fact.

A model invents, obeys what it reads, and takes the assistant's words for the user's. So it must quote, and the quote is
looked up: in a turn of the user's, in his own words, where no gate of the rulebooks is closed. What passes is a `Fact`
like those of `extract`, with the rule "model"; what does not is a `Rejection` with its reason. Nothing is awaited here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, cast, get_args

import msgspec

from recollect.model.conversation import Turn
from recollect.model.extract import APOSTROPHES, Reading
from recollect.model.fact import Category, Extraction, Fact, Rejection, Span
from recollect.model.grounds import (
    NEGATED,
    Heard,
    as_heard,
    closing,
    found_in,
    ground,
    is_said,
    negates,
    numbered,
    places,
)
from recollect.model.rulebook import Rulebook, compiled
from recollect.model.text import lexemes
from recollect.model.value import AFFIRMED

CATEGORIES = get_args(Category)
RULE = "model"
MOST_CLAIMS = 16  # asked for at once: small models do not find an end by themselves
MOST_VALUE = 300
MOST_KEY = 60
MOST_PLACES = 8  # where a quote stands, that are looked at
STANDING = ("instruction", "todo", "decision")  # forgiven by category: their keys are hardly ever the rules' own
DENIALS = ("dislike",)  # of these "I don't like" is the point
DEFINITION = "definition:"


@dataclass(frozen=True, slots=True)
class Claim:
    turn: int
    category: Annotated[str, msgspec.Meta(extra_json_schema={"enum": list(CATEGORIES)})]
    key: str
    value: str
    quote: str
    confidence: float = 0.7
    importance: float = 0.5
    corrects: bool = False
    old: str | None = None


@dataclass(frozen=True, slots=True)
class Claims:
    facts: Annotated[tuple[Claim, ...], msgspec.Meta(extra_json_schema={"maxItems": MOST_CLAIMS})]


def accepted(claims: Claims, turns: Sequence[Turn], books: Sequence[Rulebook]) -> dict[int, Extraction]:
    """For every turn, by its number (see `numbered`). A claim about no turn is counted with the last one."""
    heard = {number: as_heard(turn, books) for number, turn in numbered(turns).items()}
    readings = {number: Reading(turn.said) for number, turn in heard.items()}
    for claim in claims.facts if turns else ():
        if claim.turn in heard:
            before = [turn for number, turn in heard.items() if number <= claim.turn]
            take(judged(claim, heard[claim.turn], before, books), readings[claim.turn])
        else:
            take(Rejection("no such turn", clean(claim.value)), readings[max(readings)])
    return {number: reading.done() for number, reading in readings.items()}


def take(made: Fact | Rejection, reading: Reading) -> None:
    if isinstance(made, Fact):
        reading.facts.append(made)
    else:
        reading.rejected.append(made)


def judged(claim: Claim, turn: Heard, before: Sequence[Heard], books: Sequence[Rulebook]) -> Fact | Rejection:
    """`before` are the turns up to this one."""
    value = clean(claim.value)
    category, key = drawer(claim, books)
    spans = list(islice(places(claim.quote, turn), MOST_PLACES))
    reason = turn.reason or misshapen(category, key, value, books) or unfounded(claim, value, turn, spans, books)
    if reason:
        return Rejection(reason, value)
    pardoned = pardons(category, key, books)
    closed = [closing(ground(turn.own, span, value, pardoned, books), books) for span in spans]
    if None not in closed:
        return Rejection(str(closed[0]), value)
    span = spans[closed.index(None)]
    verbatim = found_in(value, turn.own, span)
    return Fact(
        category=cast(Category, category),
        key=key,
        value=turn.said[slice(*verbatim)] if verbatim else value,
        confidence=share(claim.confidence),
        importance=share(claim.importance),
        span=span,
        corrects=claim.corrects,
        old=replaced(claim.old, before),
        rule=RULE,
    )


def misshapen(category: str, key: str, value: str, books: Sequence[Rulebook]) -> str | None:
    if category not in CATEGORIES:
        return "no such category"
    if not key or len(key) > MOST_KEY:
        return "no usable key"
    if len(value) < min(book.shortest for book in books) and not value.isdigit():
        return "too short"
    if len(value) > MOST_VALUE:
        return "too long"
    if category == "identity" and negates(value, books):
        return NEGATED
    return "vague" if any(compiled(book.vague).fullmatch(value) for book in books) else None


def unfounded(claim: Claim, value: str, turn: Heard, spans: Sequence[Span], books: Sequence[Rulebook]) -> str | None:
    if not spans:
        return "quoted" if found_in(claim.quote, turn.said.translate(APOSTROPHES)) else "not in the text"
    is_turned = negates(value, books) and not negates(claim.quote, books)
    is_there = found_in(value, claim.quote.translate(APOSTROPHES)) or is_said(value, lexemes(claim.quote))
    return "not in the quote" if is_turned or not is_there else None


def pardons(category: str, key: str, books: Iterable[Rulebook]) -> frozenset[str]:
    """The gates that rules for the same thing do not stop at."""
    rules = (rule for book in books for rule in book.rules if rule.category == category)
    alike = (rule for rule in rules if category in STANDING or rule.key == key or is_definition(rule.key, key))
    negative = {NEGATED} if category not in AFFIRMED or key in DENIALS else set[str]()
    return frozenset(reason for rule in alike for reason in rule.despite) | negative


def is_definition(one: str, other: str) -> bool:
    return one.startswith(DEFINITION) and other.startswith(DEFINITION)


def drawer(claim: Claim, books: Iterable[Rulebook]) -> tuple[str, str]:
    """Category and key as the rules would have them, so that both put the same thing into the same place."""
    words = re.findall(r"[^\W_]+", claim.key.lower())
    if claim.key.lower().startswith(DEFINITION):
        return clean(claim.category).lower(), DEFINITION + " ".join(words[1:])
    key, homes = "_".join(words), set[str]()
    for book in books:
        if " ".join(words) in book.aliases:
            return book.aliases[" ".join(words)]
        named = [*book.aliases.values(), *((rule.category, rule.key) for rule in book.rules)]
        homes |= {category for category, known in named if known == key}
    return homes.pop() if len(homes) == 1 else clean(claim.category).lower(), key


def replaced(old: str | None, heard: Iterable[Heard]) -> str | None:
    """What a claim says it replaces, if the user ever said it here: a model's guess must not end a memory."""
    said = old is not None and any(found_in(old, turn.own) for turn in heard)
    return clean(old) if old and said else None


def clean(text: str) -> str:
    """On one line, without what PostgreSQL cannot keep."""
    return " ".join(text.replace("\0", " ").split())


def share(number: float) -> float:
    return round(min(max(number, 0.0), 1.0), 2)
