"""Spans: tokens grouped into pieces, the longest match first: names of the model, values of the data, function words,
periods, numbers. `pieces_of` is called by reading.py; what each piece is for is decided later (roles*.py).

A piece may be a name, a value and a word at once ("total"); where it is both, its neighbours decide. Names bear one
typing error; values bear none, since a wrong value gives a wrong number.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from itertools import takewhile

from recollect.sql import period_tokens, periods
from recollect.sql.known import Target
from recollect.sql.lexer import Key, Token, key_of, stem_key
from recollect.sql.lexicon import Lexicon
from recollect.sql.phrases import Unit, Word, phrases
from recollect.sql.spelling import deed, respelt
from recollect.sql.vocabulary import vocabulary

LINKING = "linking"  # what a verb is marked with that is passed over, if linking.py agrees
STATED = ("vague", "verb", "adjective", "ours")  # kinds of words that a state or a kind may be called by
UNSTATED = ("entity", "temporal", "aggregation", "commerce", "cost")


@dataclass(frozen=True, slots=True)
class Piece:
    text: str
    size: int = 1
    words: tuple[Word, ...] = ()
    names: tuple[Target, ...] = ()
    values: tuple[Target, ...] = ()
    period: period_tokens.Span | None = None
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
    return [with_ours(found, at, with_shared_end(found, at, lexicon)) for at in range(len(found))]


def with_ours(pieces: list[Piece], at: int, piece: Piece) -> Piece:
    """ "Left the company", "in our system": all of it is, where nothing here is called so."""
    is_ours = any(word.kind == "ours" for word in piece.words) and not piece.names and not piece.values
    if not is_ours:
        return piece
    ahead, behind = pieces[at - 1].text.lower() if at else "", pieces[at + 1] if at + 1 < len(pieces) else None
    is_alone = behind is None or bool(behind.period) or (bool(behind.words) and not behind.names and not behind.values)
    is_said = ahead.split()[-1:] in (["the"], ["our"], ["this"], ["your"], ["my"]) and is_alone
    return replace(piece, words=(Word("skip", "ours"),) if is_said else ())


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
        is_cut = is_cut or takes_an_edge(tokens, at + size - 1, today) or is_per_order(piece, run, before, lexicon)
        if piece.is_known and not is_cut and not is_sentence(piece, run):
            best = replace(piece, is_capital=is_capital(tokens, at))
            break
    best = with_period(tokens, at, today, before, best)
    return best if best.is_known or best.is_capital else guessed(best, lexicon)


def guessed(piece: Piece, lexicon: Lexicon) -> Piece:
    if names := deed(piece.text, lexicon):
        return replace(piece, names=names)
    if piece.text.lower() in phrases().linking:
        return replace(piece, words=(Word("skip", LINKING),))
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


def is_per_order(piece: Piece, run: list[Token], before: list[Piece], lexicon: Lexicon) -> bool:
    """ "Sales per order by year", "the biggest order by value": by the order, and no "order by"."""
    is_led = bool(before) and before[-1].has("group", "super", "superlative") and not before[-1].has("opener")
    return is_led and piece.has("order") and len(run) > 1 and bool(lexicon.name((run[0].stem,)))


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
    words = () if is_written_large(run) else worded(low)
    names = lexicon.exact(low) or lexicon.name(stems)
    values = tuple(t for t in lexicon.value(low) or lexicon.value(stems) if is_meant(t, run, words, lexicon))
    values = as_written(values, text_of(run))
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


def is_written_large(run: list[Token]) -> bool:
    """ "In the US", "people in IT": no pronouns, if the rest of the question is not shouted as well."""
    return len(run) == 1 and run[0].text.isupper() and run[0].low in vocabulary().words("written_large")


def worded(low: Key) -> tuple[Word, ...]:
    return (*phrases().of(low), *(Word("concept", name) for name in concepts_of(low)))


def concepts_of(low: Key) -> list[str]:
    key = stem_key(" ".join(low))
    return [name for name, nouns in phrases().concepts.items() if key in nouns]


def as_written(values: tuple[Target, ...], text: str) -> tuple[Target, ...]:
    """Of one column the value that is written just so, if there is one."""
    exact = {(t.table, t.column) for t in values if t.value == text}
    return tuple(t for t in values if t.value == text or (t.table, t.column) not in exact)


def is_state(target: Target, run: list[Token], words: tuple[Word, ...], lexicon: Lexicon) -> bool:
    """ "Pending", "delivered", "high", where a column of states or kinds has it: there it is not vague, nor a deed that
    is not kept. Whatever the case, for "pending" orders are "Pending" ones."""
    if (target.table, target.column) not in lexicon.kinds or not all(each.text.islower() for each in run):
        return False
    is_whole = len(run) > 1 and tuple(each.low for each in run) == key_of(target.value)  # "on hold"
    # "Used cars": whether it is meant, the noun behind it tells (roles.py).
    is_whole |= len(run) == 1 and run[0].low in vocabulary().words("kinds_too")
    return is_whole or (len(run) == 1 and all(w.kind in STATED and w.value not in UNSTATED for w in words))


def is_meant(target: Target, run: list[Token], words: tuple[Word, ...], lexicon: Lexicon) -> bool:
    """A value that reads like function words ("In", "By The Way") is meant only if written as it is stored."""
    if target.source or is_state(target, run, words, lexicon):
        return True
    if is_said_otherwise(target, run):
        return (
            len(run[0].low) > 2
            or (run[0].text.isupper() and (is_written_large(run) or not is_function(run)))
            or len(run) > 1
        )
    if all(each.low.replace(".", "").isdigit() for each in run):
        return False
    exact = text_of(run) == " ".join(target.value.split()) or same_case(run, target.value)
    if len(run) == 1 and len(run[0].low) <= 2:
        return exact
    is_phrase = (target.table, target.column) in lexicon.kinds and len(run) > 1  # "on hold"
    return exact if (words or is_function(run)) and not is_phrase else True


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


def is_amount(tokens: list[Token], at: int, found: period_tokens.Found, before: list[Piece]) -> bool:
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
