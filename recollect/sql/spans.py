"""Spans: tokens grouped into pieces, the longest match first: names of the model, values of the data, function words,
periods, numbers. `pieces_of` is called by reading.py; what each piece is for is decided later (roles*.py).

A piece may be a name, a value and a word at once ("total"); where it is both, its neighbours decide. Names bear one
typing error; values bear none, since a wrong value gives a wrong number.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from itertools import takewhile

from recollect.sql import periods
from recollect.sql.known import Target
from recollect.sql.lexer import Key, Token, key_of, stem_key
from recollect.sql.lexicon import Lexicon
from recollect.sql.phrases import Unit, Word, phrases
from recollect.sql.spelling import deed, respelt


@dataclass(frozen=True, slots=True)
class Piece:
    text: str
    size: int = 1
    words: tuple[Word, ...] = ()
    names: tuple[Target, ...] = ()
    values: tuple[Target, ...] = ()
    period: periods.Span | None = None
    number: float | None = None
    unit: Unit | None = None
    is_quoted: bool = False
    is_typo: bool = False
    is_capital: bool = False
    rivals: tuple[Target, ...] = ()  # people whose first and last name these words are as well

    def word(self, *kinds: str) -> str | None:
        """The value of its first reading of these kinds."""
        return next((word.value for word in self.words if word.kind in kinds), None)

    def has(self, *kinds: str) -> bool:
        return any(word.kind in kinds for word in self.words)

    def of(self, *kinds: str) -> tuple[Target, ...]:
        return tuple(target for target in self.names if target.kind in kinds)

    @property
    def is_skip(self) -> bool:
        return (
            bool(self.words)
            and not self.names
            and not self.values
            and all(w.kind in ("skip", "aux") for w in self.words)
        )

    @property
    def is_known(self) -> bool:
        return bool(self.words or self.names or self.values or self.period or self.unit) or self.number is not None


def pieces_of(tokens: list[Token], lexicon: Lexicon, today: date) -> list[Piece]:
    found: list[Piece] = []
    at = 0
    while at < len(tokens):
        piece = quoted(tokens, at, lexicon) or longest(tokens, at, lexicon, today, found)
        found.append(piece)
        at += piece.size
    if found and found[0].has("list") and found[0].names:  # "Name the employees"
        found[0] = replace(found[0], names=())
    return [with_shared_end(found, at, lexicon) for at in range(len(found))]


def with_shared_end(pieces: list[Piece], at: int, lexicon: Lexicon) -> Piece:
    """ "Spring or Fall 2024": what the second ends with is said of the first too, if the data has both so."""
    piece, other = pieces[at], pieces[at + 2] if at + 2 < len(pieces) else None
    if other is None or not other.values or piece.names or piece.is_quoted or not pieces[at + 1].has("or"):
        return piece
    columns, words = {(t.table, t.column) for t in other.values}, other.text.split()
    for cut in range(1, len(words)):
        whole = " ".join((piece.text, *words[cut:]))
        if same := tuple(t for t in lexicon.value(key_of(whole)) if (t.table, t.column) in columns):
            return Piece(whole, piece.size, values=same)
    return piece


def quoted(tokens: list[Token], at: int, lexicon: Lexicon) -> Piece | None:
    """A quotation is one value, known or not."""
    if not tokens[at].quote:
        return None
    run = list(takewhile(lambda each: each.quote == tokens[at].quote, tokens[at:]))
    values = lexicon.value(tuple(each.low for each in run))
    return Piece(text_of(run), len(run), values=values, is_quoted=True)


def longest(tokens: list[Token], at: int, lexicon: Lexicon, today: date, before: list[Piece]) -> Piece:
    best = Piece(tokens[at].text, is_capital=is_capital(tokens, at))
    most = min(max(lexicon.longest, phrases().longest), len(tokens) - at)
    for size in range(most, 0, -1):
        run = tokens[at : at + size]
        if any(each.quote for each in run):
            continue
        piece = at_size(run, lexicon)
        is_cut = hides_a_name(piece, run, lexicon) or cuts_a_name(piece, tokens, at, lexicon) or is_rival(piece, before)
        is_cut = is_cut or takes_an_edge(tokens, at + size - 1, today)
        if piece.is_known and not is_cut and not is_sentence(piece, run):
            best = replace(piece, is_capital=is_capital(tokens, at))
            break
    best = with_period(tokens, at, today, before, best)
    return best if best.is_known or best.is_capital else guessed(best, lexicon)


def guessed(piece: Piece, lexicon: Lexicon) -> Piece:
    if names := deed(piece.text, lexicon):
        return replace(piece, names=names)
    names = respelt(piece.text, lexicon)
    return replace(piece, names=names, is_typo=bool(names))


def is_rival(piece: Piece, before: list[Piece]) -> bool:
    """ "The reader Ann Lee", who is no writer."""
    owners = {target.table for target in before[-1].of("entity")} if before else set()
    return any(t.table in owners for t in piece.rivals) and not any(t.table in owners for t in piece.values)


def hides_a_name(piece: Piece, run: list[Token], lexicon: Lexicon) -> bool:
    """A noun of a concept (\"order total\") that begins with a name of the model (\"order\")."""
    if piece.has("grain") and not piece.names and len(run) > 2 and lexicon.name(tuple(each.stem for each in run[1:])):
        return True  # "per day of week", where a column is called so
    if piece.names or piece.values or not all(word.kind == "concept" for word in piece.words) or piece.unit:
        return False
    return any(at_size(run[:size], lexicon).names for size in range(1, len(run)))


def takes_an_edge(tokens: list[Token], at: int, today: date) -> bool:
    """ "Members since 2020" where a column is called "since": the word belongs to the period."""
    edges = (phrases().periods[name] for name in ("since", "until", "before", "after"))
    if not any((tokens[at].low,) in each for each in edges):
        return False
    found = periods.period_at(tokens, at, today)
    return found is not None and found.length > 1 and found.span.start != found.span.end


def is_sentence(piece: Piece, run: list[Token]) -> bool:
    """ "Visits cost": the visits, and what they do; not the visit cost."""
    is_several = len(run) == 2 and run[0].stem != run[0].low and not piece.values
    return is_several and any(word.kind == "verb" for word in phrases().of((run[1].low,)))


def cuts_a_name(piece: Piece, tokens: list[Token], at: int, lexicon: Lexicon) -> bool:
    """ "Total sales" where "sales amount" is a name, "per day" where "day of week" is one."""
    if piece.names or piece.values or piece.size < 2 or not piece.has("concept", "grain"):
        return False
    ends = range(at + piece.size + 1, min(at + piece.size + 3, len(tokens)) + 1)
    return any(
        lexicon.name(tuple(each.stem for each in tokens[start:end]))
        for start in range(at + 1, at + piece.size)
        for end in ends
    )


def at_size(run: list[Token], lexicon: Lexicon) -> Piece:
    low, stems = tuple(each.low for each in run), tuple(each.stem for each in run)
    words = worded(low)
    names = lexicon.exact(low) or lexicon.name(stems)
    values = tuple(t for t in lexicon.value(low) or lexicon.value(stems) if is_meant(t, run, words))
    values = tuple(t for t in values if t.value == text_of(run)) or values
    if values and (is_function(run) and not names) and all(w.kind in ("skip", "prep") for w in words):
        words = ()
    if any(t.kind == "entity" for t in names):
        names = tuple(t for t in names if t.kind != "moment")
    number, unit = number_of(run), phrases().units.get(low)
    rivals = split_names(low, lexicon, values) if values and len(low) > 1 else ()
    return Piece(text_of(run), len(run), words, names, values, number=number, unit=unit, rivals=rivals)


def split_names(low: Key, lexicon: Lexicon, values: tuple[Target, ...]) -> tuple[Target, ...]:
    """ "Ann Lee" is a writer, and a reader whose names are in two columns."""
    known = {value.table for value in values}
    halves = ((lexicon.value(low[:at]), lexicon.value(low[at:])) for at in range(1, len(low)))
    pairs = ((a, b) for first, last in halves for a in first for b in last if a.table == b.table)
    return tuple(b for a, b in pairs if a.column != b.column and b.table not in known)


def worded(low: Key) -> tuple[Word, ...]:
    return (*phrases().of(low), *(Word("concept", name) for name in concepts_of(low)))


def concepts_of(low: Key) -> list[str]:
    key = stem_key(" ".join(low))
    return [name for name, nouns in phrases().concepts.items() if key in nouns]


def is_meant(target: Target, run: list[Token], words: tuple[Word, ...]) -> bool:
    """A value that reads like function words ("In", "By The Way") is meant only if written as it is stored."""
    if target.source or is_said_otherwise(target, run):
        return True
    if all(each.low.replace(".", "").isdigit() for each in run):
        return False
    exact = text_of(run) == " ".join(target.value.split()) or same_case(run, target.value)
    if len(run) == 1 and len(run[0].low) <= 2:
        return exact
    return exact if words or is_function(run) else True


def is_said_otherwise(target: Target, run: list[Token]) -> bool:
    """ "Yearly" for the value "year", "Germany" for "DE"."""
    return tuple(each.stem for each in run) != stem_key(target.value) and tuple(e.low for e in run) != key_of(
        target.value
    )


def same_case(run: list[Token], value: str) -> bool:
    return all(each.text in value for each in run)


def is_function(run: list[Token]) -> bool:
    return all(phrases().of((each.low,)) or each.is_number or (each.low,) in phrases().numbers for each in run)


def number_of(run: list[Token]) -> float | None:
    if len(run) == 1 and run[0].is_number:
        return float(run[0].low.replace(",", ""))
    return phrases().numbers.get(tuple(each.low for each in run))


def with_period(tokens: list[Token], at: int, today: date, before: list[Piece], best: Piece) -> Piece:
    """A period wins over shorter readings, unless it is a number: "more than 2000", "top 2000"."""
    found = periods.period_at(tokens, at, today)
    if found is None or found.length < best.size or (found.length == best.size and best.has("shift", "thing")):
        return best
    if is_amount(tokens, at, found, before) or is_span_between(tokens, at, before):
        return best
    if best.values and found.length == best.size and best.number is None and not found.span.start:
        return best
    return Piece(found.span.text, found.length, period=found.span)


def is_span_between(tokens: list[Token], at: int, before: list[Piece]) -> bool:
    """ "Shipped within 3 days" is a time between two dates, "orders within 30 days" are the last ones."""
    said = before[-1] if before else None
    bare = tokens[at].low == "within" and at + 1 < len(tokens) and tokens[at + 1].is_number
    return bare and (
        said is None or (said.has("verb") and not said.of("entity")) or bool(said.of("moment")) or not said.is_known
    )


def is_amount(tokens: list[Token], at: int, found: periods.Found, before: list[Piece]) -> bool:
    last = tokens[at + found.length - 1]
    if not last.is_number or found.span.start is None:
        return False
    behind = tokens[at + found.length] if at + found.length < len(tokens) else None
    if behind and (behind.low,) in phrases().units and (behind.low,) not in phrases().periods["year"]:
        return True
    opens = phrases().of((tokens[at].low,))
    led = any(word.kind == "compare" and word.value != "between" for word in opens)
    said = before[-1] if before else None
    return (led and found.length == 2) or bool(said and said.has("compare", "comparative", "top") and found.length == 1)


def is_capital(tokens: list[Token], at: int) -> bool:
    return at > 0 and tokens[at].text[:1].isupper()


def text_of(run: list[Token]) -> str:
    if any("\u3400" <= each.text[:1] <= "\u9fff" for each in run):
        return "".join(each.text for each in run)
    return " ".join(each.text for each in run)
