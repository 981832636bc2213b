"""Claims: what a language model says a user stated, and the checks that each claim must pass to become a fact.

A model invents, follows instructions in the text and takes the assistant's words for the user's. So it must quote, and
the quote is looked up: in a turn of the user, in their own words, where no gate of the rulebooks is closed. An accepted
claim is a `Fact` with the rule "model"; a refused one is a `Rejection` with its reason. Pure.

A claim without a quote of its own (a line, see claim_lines.py) confirms the statement that it comes from: the statement
must be worth remembering (worth.py), with a lower threshold than without a model. Only where rules know the key, the
model's value is kept; otherwise the statement is, in the user's words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Annotated, cast, get_args

import msgspec

from recollect.learning.extract import AFFIRMED, APOSTROPHES, STATED, TurnReader, extract, keep_statement
from recollect.learning.gates import gate_clauses
from recollect.learning.quote_location import (
    NEGATED,
    OwnText,
    find_closing_reason,
    find_ground,
    find_phrase,
    find_quote,
    is_negated,
    is_said,
    number_turns,
    read_own_text,
)
from recollect.learning.rulebook import Rule, Rulebook, compile_pattern, list_books
from recollect.learning.worth import judge_statement, list_statements
from recollect.recall.answer_types import POSSESSED, SOMEBODY, USER, find_subject
from recollect.recall.lexemes import lexemes
from recollect.recall.sentences import sentences
from recollect.recall.word_lists import CLAUSE_BREAK, FIRST_PERSON
from recollect.values.conversation import Turn
from recollect.values.memory import Category, Extraction, Fact, Rejection, Span
from recollect.values.text import is_cjk

CATEGORIES = get_args(Category)
RULE = "model"
MOST_CLAIMS = 16  # requested at once: small models do not stop by themselves
MOST_VALUE = 300
MOST_KEY = 60
MOST_WHOLE = 5  # words of a message that may be a value as a whole
MOST_PLACES = 8  # where a quote stands, that are looked at
CONFIRMED = 0.55  # probability from which a statement is kept that a model names
STANDING = ("instruction", "todo", "decision")  # forgiven by category: their keys are hardly ever the rules' own
DENIALS = ("dislike",)  # of these "I don't like" is the point
DEFINITION = "definition:"
ABOUT_USER = ("identity", "preference", "fact")  # categories whose claims must speak of the user or their people
OWN = re.compile(
    r"\b(us|ours|ich|mir|mich|mein\w*|wir|uns\w*|je|j'|mon|ma|mes|nous|notre|yo|mi|mis|io|mio|mia)\b", re.I
)
SENTENCE_ENDS = ".!?。！？\n"


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
    is_quoted: bool = True  # by the model


@dataclass(frozen=True, slots=True)
class Claims:
    facts: Annotated[tuple[Claim, ...], msgspec.Meta(extra_json_schema={"maxItems": MOST_CLAIMS})]


def accept_claims(claims: Claims, turns: Sequence[Turn], books: Sequence[Rulebook]) -> dict[int, Extraction]:
    """Return an extraction for every turn, by its number (see `number_turns`). A claim about no turn is counted with
    the last one."""
    heard = {number: read_own_text(turn, books) for number, turn in number_turns(turns).items()}
    readings = {number: TurnReader(turn.said) for number, turn in heard.items()}
    for claim in claims.facts if turns else ():
        if claim.turn in heard:
            before = [turn for number, turn in heard.items() if number <= claim.turn]
            add_result(judge_claim(claim, heard[claim.turn], before, books), readings[claim.turn])
        else:
            add_result(Rejection("no such turn", clean_text(claim.value)), readings[max(readings)])
    return {number: reading.done() for number, reading in readings.items()}


def add_result(made: Fact | Rejection, reading: TurnReader) -> None:
    if isinstance(made, Fact):
        reading.facts.append(made)
    else:
        reading.rejected.append(made)


def judge_claim(claim: Claim, turn: OwnText, before: Sequence[OwnText], books: Sequence[Rulebook]) -> Fact | Rejection:
    """Return a fact, or why the claim is refused. `before` are the turns up to this one."""
    value = clean_text(claim.value)
    category, key = normalize_key(claim, books)
    span = find_open_quote(claim, category, key, value, turn, books)
    if isinstance(span, str):
        return Rejection(span, value)
    verbatim = find_phrase(value, turn.own, span)
    place = verbatim or span
    confirmed = confirm_statement(claim, key, place, turn, books)
    if confirmed is not None:
        return confirmed
    reason = check_subject(category, key, value, place, turn)
    if reason:
        return Rejection(reason, value)
    is_standing = category in STANDING or key.startswith(DEFINITION)
    person = "" if is_standing else find_person(turn.own, place[0])
    return Fact(
        category="fact" if person else cast(Category, category),
        key=f"{person}_{key}" if person else key,
        value=turn.said[slice(*verbatim)] if verbatim else value,
        confidence=clamp(claim.confidence),
        importance=clamp(claim.importance),
        span=span,
        corrects=claim.corrects,
        old=find_replaced(claim.old, before),
        rule=RULE,
    )


def find_open_quote(
    claim: Claim, category: str, key: str, value: str, turn: OwnText, books: Sequence[Rulebook]
) -> Span | str:
    """Return where the user states what a claim quotes, or why nothing there counts."""
    spans = list(islice(find_quote(claim.quote, turn), MOST_PLACES))
    reason = turn.reason or check_shape(category, key, value, books) or check_grounds(claim, value, turn, spans, books)
    if reason:
        return reason
    pardoned = list_pardons(category, key, books)
    closed = [find_closing_reason(find_ground(turn.own, span, value, pardoned, books), books) for span in spans]
    return spans[closed.index(None)] if None in closed else str(closed[0])


def confirm_statement(
    claim: Claim, key: str, place: Span, turn: OwnText, books: Sequence[Rulebook]
) -> Fact | Rejection | None:
    """Return the statement at a place in the user's words, or why it is refused; None if the value itself may be kept:
    the model quoted it, or rules know the key."""
    if claim.is_quoted:
        return None
    statement = find_statement(turn, place, books)
    if statement is None:
        return Rejection("weak", clean_text(claim.value))
    if is_known(key, books):
        return None
    is_repeated = has_value(turn, statement.span, books)
    return Rejection("known", clean_text(claim.value)) if is_repeated else replace(statement, rule=RULE)


def find_statement(turn: OwnText, place: Span, books: Sequence[Rulebook]) -> Fact | None:
    """Return the statement at a place in the user's words; None if it is not worth keeping."""
    abbreviations = frozenset[str]().union(*(book.abbreviations for book in books))
    span = next((span for span in sentences(turn.own, abbreviations) if place[0] < span[1]), None)
    if span is None:  # nothing but marks, such as those of a heading
        return None
    start, text = span[0], turn.own[slice(*span)]
    book = (list_books(text, books) or books)[0]
    for found in list_statements(gate_clauses(text, book), start):
        if found.span[0] <= place[0] < found.span[1]:
            is_likely = judge_statement(turn.own, found).probability >= CONFIRMED
            return keep_statement(turn.own, turn.said, found, book) if is_likely else None
    return None


def has_value(turn: OwnText, span: Span, books: Sequence[Rulebook]) -> bool:
    """Return whether rules found a value there: then the statement would say the same again."""
    found = [fact.span for fact in extract(turn.said, "user", books).facts if fact.rule != STATED]
    return any(start < span[1] and span[0] < end for start, end in found)


def check_subject(category: str, key: str, value: str, place: Span, turn: OwnText) -> str | None:
    if category not in ABOUT_USER or key.startswith(DEFINITION):
        return None
    if not is_about_user(turn.own, place):
        return "not about the user"
    return "a whole message is no value" if is_whole(value, turn) else None


def is_whole(value: str, turn: OwnText) -> bool:
    return len(value.split()) > MOST_WHOLE and value == clean_text(turn.said).strip(SENTENCE_ENDS)


def is_about_user(own: str, span: Span) -> bool:
    """Return whether a sentence speaks of the user up to the end of the quote's clause: what comes after is a remark
    ("..., I suppose"). Chinese often leaves the user out."""
    start = max(own.rfind(mark, 0, span[0]) for mark in SENTENCE_ENDS) + 1
    ended = CLAUSE_BREAK.search(own, span[1])
    said = own[start : ended.start() if ended else len(own)]
    return is_cjk(said) or FIRST_PERSON.search(said) is not None or OWN.search(said) is not None


def find_person(own: str, at: int) -> str:
    """Return whom the words at a position are about, if not the user: "my daughter turned six" is not the user's age. A
    clause without a person is about that of the clause before."""
    start = max(own.rfind(mark, 0, at) for mark in SENTENCE_ENDS) + 1
    people = frozenset[str]()
    for clause in CLAUSE_BREAK.split(POSSESSED.sub("", own[start:at])):
        people = find_subject(clause, {}, frozenset((SOMEBODY,))) or people
    return "" if USER in people else next(iter(people), "")


def check_shape(category: str, key: str, value: str, books: Sequence[Rulebook]) -> str | None:
    refusals = {
        "no such category": category not in CATEGORIES,
        "no usable key": not 0 < len(key) <= MOST_KEY,
        "too short": len(value) < min(book.shortest for book in books) and not value.isdigit(),
        "too long": len(value) > MOST_VALUE,
        NEGATED: category == "identity" and is_negated(value, books),
        "vague": any(compile_pattern(book.vague).fullmatch(value) for book in books),
    }
    return next((reason for reason, holds in refusals.items() if holds), None)


def check_grounds(
    claim: Claim, value: str, turn: OwnText, spans: Sequence[Span], books: Sequence[Rulebook]
) -> str | None:
    if not spans:
        return "quoted" if find_phrase(claim.quote, turn.said.translate(APOSTROPHES)) else "not in the text"
    is_turned = is_negated(value, books) and not is_negated(claim.quote, books)
    is_there = find_phrase(value, claim.quote.translate(APOSTROPHES)) or is_said(value, lexemes(claim.quote))
    return "not in the quote" if is_turned or not is_there else None


def list_pardons(category: str, key: str, books: Iterable[Rulebook]) -> frozenset[str]:
    """Return the gates that rules for the same thing ignore."""
    alike = (rule for book in books for rule in book.rules if rule.category == category and is_alike(rule, key))
    negative = {NEGATED} if category not in AFFIRMED or key in DENIALS else set[str]()
    return frozenset(reason for rule in alike for reason in rule.despite) | negative


def is_alike(rule: Rule, key: str) -> bool:
    are_definitions = rule.key.startswith(DEFINITION) and key.startswith(DEFINITION)
    return rule.category in STANDING or rule.key == key or are_definitions


def normalize_key(claim: Claim, books: Iterable[Rulebook]) -> tuple[str, str]:
    """Return category and key as the rules name them, so that both use the same key for the same thing."""
    words = re.findall(r"[^\W_]+", claim.key.lower())
    if claim.key.lower().startswith(DEFINITION):
        return clean_text(claim.category).lower(), DEFINITION + " ".join(words[1:])
    key, homes = "_".join(words), set[str]()
    for book in books:
        if " ".join(words) in book.aliases:
            return book.aliases[" ".join(words)]
        named = [*book.aliases.values(), *((rule.category, rule.key) for rule in book.rules)]
        homes |= {category for category, known in named if known == key}
    return homes.pop() if len(homes) == 1 else clean_text(claim.category).lower(), key


def is_known(key: str, books: Iterable[Rulebook]) -> bool:
    """Return whether rules know the key, or what is defined by it."""
    named = {key for book in books for _, key in book.aliases.values()}
    return key in named.union(rule.key for book in books for rule in book.rules) or key.startswith(DEFINITION)


def find_replaced(old: str | None, heard: Iterable[OwnText]) -> str | None:
    """Return what a claim says it replaces, if the user said it here: a model's guess must not end a memory."""
    said = old is not None and any(find_phrase(old, turn.own) for turn in heard)
    return clean_text(old) if old and said else None


def clean_text(text: str) -> str:
    """Return the text on one line, without NUL, which PostgreSQL cannot store."""
    return " ".join(text.replace("\0", " ").split())


def clamp(number: float) -> float:
    return round(min(max(number, 0.0), 1.0), 2)
