"""Linking: every span of the question that may name something, with a score and a tier.

`link_question` returns the links by position. A link of a higher tier (session > user > project > glossary > schema)
removes the links of lower tiers for the same words, so what a user taught always wins over a column of that name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import takewhile
from typing import Literal

from recollect.apps.ask.interpret.explain import label_frame
from recollect.apps.ask.interpret.frame import Filter, Frame, Group, Op, Period, Ref
from recollect.apps.ask.interpret.index import (
    NO_COLUMN,
    NOWHERE,
    ROLES,
    ColumnInfo,
    SchemaIndex,
    Target,
    keep_best,
    measure_target,
    plain_name,
)
from recollect.apps.ask.interpret.misspelling import respell
from recollect.apps.ask.interpret.periods import Span, find_fiscal_start, find_periods, is_fiscal_word
from recollect.apps.ask.interpret.render import CannotRender, render_keys
from recollect.apps.ask.interpret.values import PLURAL, FoundValue, ValueIndex
from recollect.apps.ask.semantic import draft
from recollect.apps.ask.words import (
    Operator,
    Phrase,
    Token,
    drop_negation,
    find_operators,
    is_abbreviation,
    load_concepts,
    longest_operator,
    stem_phrase,
    stem_word,
    tokenize,
)  # fmt: skip

Tier = Literal["schema", "glossary", "project", "user", "session"]
TIERS: dict[Tier, int] = {"schema": 0, "glossary": 1, "project": 2, "user": 3, "session": 4}
LinkKind = Literal["entity", "column", "measure", "value", "period", "number", "definition", "operator", "role", "text"]
LONGEST_SPAN = 6
RANKING = ("superlative", "adjective")
TIMES = (["times"], ["次"])
PRONOUNS = frozenset(
    ("they", "them", "these", "those", "their", "它们", "他们", "其中")
)  # for the rows of the last answer
WHO = ("who", "whom", "whose", "谁")
PERSON = (stem_word("person"),)
EVERYONE = ("everyone", "everybody", "anyone", "anybody")
VALUES = frozenset(("value", "period"))
NAMING = VALUES | {"entity", "column", "measure", "definition"}
CLEAR = 0.8  # score above which a name is clear
GOOD = 0.9  # score from which nothing else needs to be looked up
JOINED = 6  # letters above which a single word may be two of a name
MIN_ABBREVIATED, ABBREVIATED = 3, 0.9  # letters of an abbreviation, and how alike it and its word are
PAID, DUE = frozenset(map(stem_word, ("paid", "settled", "payment"))), frozenset(("due", "deadlin", "expect"))
ENDS = draft.ENDINGS | frozenset(map(stem_word, ("done", "solved", "inactive")))
STATES, STATE = {"open": ENDS, "owed": PAID}, 0.93  # columns that say what has become of a row; score of such a word
WORD_OF_VALUE, MOST_SPELLINGS = 0.75, 4  # score of one word of values, and how many values may have it
GUESSED = 0.3  # score of rows that an unknown word may stand for
MOST_GUESSED = 2
MISSPELT = 0.8  # score of a misspelt name
PREFIX = 4  # letters that a shortened word must share with a name


@dataclass(frozen=True, slots=True)
class Word:
    """A word that somebody taught: another name of a `target` ("customers", "orders.amount"), an SQL `condition` on a
    table, an SQL `expression` of a table with its `aggregate`, or a `meaning` in words."""

    names: tuple[str, ...]
    tier: Tier = "project"
    target: str = ""
    table: str = ""
    condition: str = ""
    meaning: str = ""
    expression: str = ""
    aggregate: str = ""


@dataclass(frozen=True, slots=True)
class DefaultFilter:
    """A condition for every question that touches the table, unless the question says otherwise."""

    table: str
    condition: str
    text: str = ""
    tier: Tier = "project"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What memory and the session say, as plain values. `focus` is a period in words ("last quarter")."""

    words: tuple[Word, ...] = ()
    filters: tuple[DefaultFilter, ...] = ()
    focus: str = ""
    grain: str = ""  # of "over time" and other words that name no unit


@dataclass(frozen=True, slots=True)
class Link:
    """What tokens [start, end) may mean; score 1 is an exact name."""

    start: int
    end: int
    kind: LinkKind
    score: float = 1.0
    tier: int = 0
    target: Target = NOWHERE
    value: str = ""
    spellings: tuple[str, ...] = ()  # of the value in the data, where there are several
    second: Target | None = None  # the last name, where a person is named by two columns
    second_value: str = ""
    operator: Operator | None = None
    period: Span | None = None
    number: float | None = None
    fragment: Frame | None = None  # the conditions that a definition stands for
    text: str = ""
    is_opposite: bool = False  # of a definition: "inactive"

    @property
    def length(self) -> int:
        return self.end - self.start


@dataclass(slots=True)
class Linked:
    """The tokens of a question with their links by first token, and the names to look up in the database."""

    question: str
    tokens: tuple[Token, ...]
    index: SchemaIndex
    links: list[list[Link]] = field(default_factory=list)
    lookups: tuple[str, ...] = ()
    vocabulary: Vocabulary = field(default_factory=Vocabulary)
    today: date = date.min
    last: Frame | None = None
    is_last_sure: bool = True  # whether the last frame was answered, not only offered

    @property
    def asks_who(self) -> bool:
        """Whether the question is about people."""
        lead = takewhile(lambda token: token.lower in WHO or is_select(token), self.tokens)
        return any(token.lower in WHO for token in lead)

    def links_at(self, at: int) -> Sequence[Link]:
        return self.links[at] if at < len(self.links) else ()

    def tables_at(self, at: int) -> set[str]:
        """Return the tables that the words from here on clearly name."""
        return {link.target.table for link in self.links_at(at) if link.kind == "entity" and link.score > CLEAR}

    def covering(self, at: int) -> list[Link]:
        """Return the links other than operators that explain the token."""
        return [
            link for links in self.links for link in links
            if link.kind not in ("operator", "role", "text") and link.start <= at < link.end and link.score > GUESSED
        ]  # fmt: skip


def link_question(
    question: str, index: SchemaIndex, vocabulary: Vocabulary | None = None, *, today: date | None = None,
    last: Frame | None = None, values: Sequence[FoundValue] = (), is_last_sure: bool = True,
) -> Linked:  # fmt: skip
    """Return the question's tokens and links. Call again with `values` after looking up `lookups`."""
    tokens, known = drop_everyone(tokenize(question)), index.values.with_values(values)
    linked = Linked(question, tokens, index, vocabulary=vocabulary or Vocabulary(), today=today or date.today(),
                    last=last, is_last_sure=is_last_sure)  # fmt: skip
    found: list[Link] = [
        *link_periods(linked),
        *link_names(tokens, index),
        *link_values(tokens, index, known),
        *link_numbers(tokens),
        *link_operators(tokens, index),
        *link_words(tokens, linked),
        *link_last_rows(linked),
    ]
    # A status of that name says it better.
    valued = {link.start for link in found if link.kind == "value" and link.length == 1}
    found += [link for link in link_states(tokens, index, linked.today) if link.start not in valued]
    found += link_opposites(found, linked)
    found = keep_highest_tier(found)
    found += link_words_of_values(tokens, found, known)
    found += link_misspelt(tokens, found, index)
    found += [*link_texts(tokens, found), *link_unknown(tokens, found, index)]
    linked.links = sort_links(found, len(tokens))
    linked.lookups = find_lookups(found) if not values else ()
    return linked


def drop_everyone(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
    """Return "everyone who ordered" as "who ordered"."""
    after = (*tokens[1:], None)
    return tuple(
        token for token, following in zip(tokens, after, strict=False)
        if not (token.lower in EVERYONE and following and following.lower in WHO)
    )  # fmt: skip


def sort_links(found: Iterable[Link], length: int) -> list[list[Link]]:
    """Return the links by their first token, the most important first."""
    links: list[list[Link]] = [[] for _ in range(length)]
    for link in dict.fromkeys(found):
        links[link.start].append(link)
    for there in links:
        there.sort(key=lambda link: (-link.tier, -link.end, -link.score))
    return links


def link_periods(linked: Linked) -> Iterator[Link]:
    """Link periods; "the year before" counts from the period that was asked about before."""
    start = linked.last.periods[0].start if linked.last and linked.last.periods else None
    anchor = date.fromisoformat(start[:10]) if start else None
    for each in find_periods(linked.tokens, linked.today, anchor, find_fiscal_month(linked.vocabulary)):
        yield Link(each.first, each.last, "period", period=each, text=each.text)


def find_fiscal_month(vocabulary: Vocabulary) -> int:
    """Return the month in which the fiscal year begins, as the highest tier says; 0 if it is not known."""
    taught = [each for each in vocabulary.words if starts_year(each)]
    return find_fiscal_start(max(taught, key=lambda each: TIERS[each.tier]).meaning) if taught else 0


def starts_year(word: Word) -> bool:
    """Whether a taught word says when a fiscal year begins."""
    return any(map(is_fiscal_word, word.names)) and find_fiscal_start(word.meaning) > 0


def keep_highest_tier(links: Sequence[Link]) -> list[Link]:
    """Drop the links that overlap with one of a higher tier; an operator only if it is no longer than that."""
    taught = [link for link in links if link.tier]

    def is_overruled(link: Link) -> bool:
        over = [each for each in taught if each.tier > link.tier and each.start < link.end and link.start < each.end]
        return any(link.kind != "operator" or each.length >= link.length for each in over)

    return [link for link in links if not is_overruled(link)]


def spans(tokens: Sequence[Token], longest: int = LONGEST_SPAN) -> Iterator[tuple[int, int, Phrase]]:
    for start in range(len(tokens)):
        for end in range(start + 1, min(start + longest, len(tokens)) + 1):
            if end > start + 1 and tokens[end - 1].mark:
                break
            yield start, end, tuple(token.stem for token in tokens[start:end])


def link_names(tokens: Sequence[Token], index: SchemaIndex) -> Iterator[Link]:
    """Link names of the schema: whole, in part, joined, by concept, and shortened where nothing else fits."""
    matched: set[int] = set()
    for start, end, stems in spans(tokens):
        found = drop_keys(find_names(tokens[start:end], stems, index), index)
        matched.update(range(start, end) if found else ())
        yield from (Link(start, end, target.kind, score, target=target) for target, score in found.items())
    for at, token in enumerate(tokens):
        is_word = len(token.stem) >= PREFIX and token.lower.isalpha() and not is_operator(token)
        for target, score in shortened(token, index) if is_word and at not in matched else ():
            yield Link(at, at + 1, target.kind, score, target=target)


def find_names(tokens: Sequence[Token], stems: Phrase, index: SchemaIndex) -> dict[Target, float]:
    """Return what the words name, with the best score of each."""
    tables = [index.names.get(stems, {})]
    if len(stems) > 1 or len(stems[0]) > JOINED:
        tables.append(index.joined.get(stem_word("".join(token.lower for token in tokens)), {}))
    if len(stems) == 2:
        # A verb and its particle are one word as a noun: "logged in" and "login".
        tables.append(index.names.get(("".join(stems),), {}))
    if all(operator.kind != "aggregate" for operator in find_operators(tokens)):
        tables += [index.by_concept.get(concept, {}) for concept in load_concepts().get(stems, frozenset()) - ROLES]
    found: dict[Target, float] = {}
    for table in tables:
        for target, score in table.items():
            keep_best(found, target, score)
    return found | name_people(stems, found, index)


def name_people(stems: Phrase, found: Mapping[Target, float], index: SchemaIndex) -> dict[Target, float]:
    """Return all that "people" names, where something is called so by its meaning only: customers are people, too."""
    best = max(found.values(), default=0.0)
    return {Target("entity", table): best for table in index.people} if stems == PERSON and 0 < best < 1 else {}


def drop_keys(found: Mapping[Target, float], index: SchemaIndex) -> dict[Target, float]:
    """Return the targets without what the name of rows says less well: keys that refer to rows of that name ("region"
    is the region), and their own columns ("pets" are no pet names)."""
    rows = {target.table: score for target, score in found.items() if target.kind == "entity"}
    best = max(rows.values(), default=0.0)
    kept: dict[Target, float] = {}
    for target, score in found.items():
        is_own = target.kind == "column" and score <= CLEAR and rows.get(target.table, 0.0) >= GOOD
        if score > best or not (is_own or index.column_of(target).role == "foreign"):
            kept[target] = score
    return kept


def is_operator(token: Token) -> bool:
    return bool(find_operators([token]))


def is_select(token: Token) -> bool:
    return any(operator.kind == "select" for operator in find_operators([token]))


def shortened(token: Token, index: SchemaIndex) -> Iterator[tuple[Target, float]]:
    """Yield names that begin with the word or that the word begins with: abbreviations and word families."""
    for phrase, targets in index.names.items():
        likeness = compare_words(phrase[0], token.stem) if len(phrase) == 1 else 0.0
        if likeness:
            yield from ((target, score * (0.45 + 0.3 * likeness)) for target, score in targets.items())


def compare_words(one: str, other: str) -> float:
    """Return the share of the longer word that both begin with; 0 if the words are not related. A word with a meaning
    of its own is no beginning of another: a salesperson is no sale."""
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    shorter, longer = sorted((len(one), len(other)))
    is_related = shared >= max(PREFIX, 0.7 * shorter) and (
        shared >= 0.6 * longer or (shared == shorter and (one,) not in load_concepts())
    )
    if not is_related and len(one) >= MIN_ABBREVIATED and is_abbreviation(one, other):
        return ABBREVIATED
    return shared / longer if is_related else 0.0


def link_values(tokens: Sequence[Token], index: SchemaIndex, values: ValueIndex) -> Iterator[Link]:
    """Link values of the data; a first name followed by a last name of the same table is one link."""
    found = [match_values(tokens, at, index, values) for at in range(len(tokens))]
    for links in found:
        for first in links:
            yield first
            label, table = index.tables[first.target.table].label, first.target.table
            for last in found[first.end] if len(label) == 2 and first.end < len(tokens) else ():
                if last.target.table == table and {first.target.column, last.target.column} == set(label):
                    yield replace(first, end=last.end, score=1.0, second=last.target, second_value=last.value)


def match_values(tokens: Sequence[Token], at: int, index: SchemaIndex, values: ValueIndex) -> list[Link]:
    """Return the values that begin here. Values of a column that the same words name are one link: "No Show" and
    "no-show"."""
    groups: dict[tuple[int, Target], list[Link]] = {}
    for end, entry, difference in values.match(tokens, at):
        target = Target("column", entry.table, entry.column)
        strength = value_score(tokens, at, end, difference, is_kind=index.column_of(target).sorts_rows)
        if strength > 0:
            link = Link(at, end, "value", strength, target=target, value=entry.value)
            groups.setdefault((end, target), []).append(link)
    best = [(max(same, key=lambda link: link.score), same) for same in groups.values()]
    return [replace(link, spellings=tuple(dict.fromkeys(each.value for each in same))) for link, same in best]


def link_words_of_values(tokens: Sequence[Token], found: Sequence[Link], values: ValueIndex) -> Iterator[Link]:
    """Link a word that nothing explains to the values that end with it: "croissants" to "Butter Croissant". The word
    before it may begin the value: "Dr Bevan"."""
    explained = cover(link for link in found if link.kind in NAMING)
    for at, token in enumerate(tokens):
        is_word = at not in explained and len(token.lower) >= PREFIX - 1 and not is_operator(token)
        for (table, column), same in values.last.get(token.stem, {}).items() if is_word else ():
            named, is_begun = list_begun(tokens[at - 1].lower if at and not token.mark else "", same)
            score = WORD_OF_VALUE + 0.1 * token.is_capital + 0.1 * is_begun
            link = Link(at - is_begun, at + 1, "value", score, target=Target("column", table, column), value=named[0])
            yield from [replace(link, spellings=named)] if len(named) <= MOST_SPELLINGS else []


def list_begun(first: str, values: Sequence[str]) -> tuple[tuple[str, ...], bool]:
    """Return the values that begin with a word and whether there are any; without them, all values."""
    begun = [each for each in values if first and each.lower().startswith(first + " ")]
    return tuple(dict.fromkeys(begun or values)), bool(begun)


def value_score(tokens: Sequence[Token], at: int, end: int, difference: float, *, is_kind: bool) -> float:
    """An ordinary word is a weak value; a capital, quotes or several words make it a strong one, and so do columns that
    have a few values only. The length of the quotation must be that of the value."""
    span, first = tokens[at:end], tokens[at]
    if first.quote:
        inside = sum(token.quote == first.quote for token in tokens)
        return 1.0 if inside == len(span) else 0.4
    if all(token.number is not None for token in span):
        return 0.0
    strength = word_strength(first, is_kind) if len(span) == 1 else 1.0
    return max(0.0, strength - (0.0 if is_kind and difference <= PLURAL else difference))


def word_strength(token: Token, is_kind: bool) -> float:
    """Return how likely a single word outside of quotes is a value."""
    is_plain = any(operator.kind != "state" for operator in find_operators([token]))
    if not token.is_capital and (is_plain or len(token.lower) == 1):
        return 0.0
    if len(token.lower) == 1:
        return 0.5
    return 1.0 if token.is_capital or is_kind else 0.8


def link_numbers(tokens: Sequence[Token]) -> Iterator[Link]:
    for at, token in enumerate(tokens):
        if token.number is not None:
            is_counted = [each.lower for each in tokens[at + 1 : at + 2]] in TIMES
            yield Link(at, at + 1 + is_counted, "number", number=token.number, text=token.text)


def link_operators(tokens: Sequence[Token], index: SchemaIndex) -> Iterator[Link]:
    """Link operators, but none inside a longer one ("least" in "at least"), and words for roles of keys."""
    found: list[Link] = []
    for start, end, stems in spans(tokens, longest_operator()):
        words = tokens[start:end]
        if not any(token.quote or token.is_letter for token in words):
            found += [Link(start, end, "operator", operator=operator) for operator in list_operators(words)]
            roles = load_concepts().get(stems, frozenset()) & index.roles
            found += [Link(start, end, "role", value=each) for each in roles]
    longest = [cover([link]) for link in found if link.kind == "operator"]
    yield from (link for link in found if not any(map(cover([link]).__lt__, longest)))


def list_operators(words: Sequence[Token]) -> Iterator[Operator]:
    """Yield the operators that words name together; "biggest first" is an order."""
    yield from (each for each in find_operators(words) if each.kind != "glue" or len(words) > 1)
    if words[-1].lower == "first":
        ranking = (each for each in find_operators(words[:-1]) if each.kind in RANKING)
        yield from (Operator("order", each.value) for each in ranking)


def link_misspelt(tokens: Sequence[Token], found: Sequence[Link], index: SchemaIndex) -> Iterator[Link]:
    """Link words that nothing explains to the names, values and operators that they misspell."""
    respelt = respell(tokens, cover(found), index.words)
    changed = {at for at, token in enumerate(respelt) if token != tokens[at]}
    if changed:
        named = (*link_names(respelt, index), *link_values(respelt, index, index.values))
        named = tuple(link for link in named if not changed.isdisjoint(cover([link])))
        # What may be a name is no misspelt operator.
        rest = changed - cover(named)
        operators = (link for link in link_operators(respelt, index) if not rest.isdisjoint(cover([link])))
        yield from (replace(link, score=link.score * MISSPELT) for link in (*named, *operators))


def cover(links: Iterable[Link]) -> set[int]:
    """Return the places of the tokens that the links are about."""
    return {at for link in links for at in range(link.start, link.end)}


def link_texts(tokens: Sequence[Token], found: Sequence[Link]) -> Iterator[Link]:
    """Link quotations and capitalised runs as plain texts, for "contains" and for values that nobody knows."""
    valued = cover(link for link in found if link.kind in VALUES and link.score >= GOOD)
    start = 0
    for end in range(1, len(tokens) + 1):
        first = tokens[start]
        if end < len(tokens) and is_same_run(first, tokens[end]):
            continue
        if first.quote or (first.is_capital and not valued.issuperset(range(start, end))):
            yield Link(start, end, "text", 0.5, text=" ".join(token.text for token in tokens[start:end]))
        start = end


def is_same_run(first: Token, other: Token) -> bool:
    if first.quote:
        return other.quote == first.quote
    return first.is_capital and other.is_capital and not other.mark and not other.quote


def link_unknown(tokens: Sequence[Token], found: Sequence[Link], index: SchemaIndex) -> Iterator[Link]:
    """Link a word that nothing explains to the tables with the most to tell: "visits" may be the appointments. Chinese
    characters in a row are one word."""
    explained = cover(found) | {at for at, token in enumerate(tokens) if is_operator(token) or token.is_strong}
    start = 0
    while start < len(tokens):
        end = start + 1
        while end < len(tokens) and end not in explained and not tokens[start].lower.isascii():
            end += 1
        for table in index.events[:MOST_GUESSED] if start not in explained else ():
            yield Link(start, end, "entity", GUESSED, target=Target("entity", table))
        start = end


def find_lookups(found: Sequence[Link]) -> tuple[str, ...]:
    """Return quoted and capitalised names that no value, name or period explains."""
    kinds = VALUES | {"entity", "column", "definition"}
    explained = cover(link for link in found if link.kind in kinds and link.score >= GOOD)
    return tuple(dict.fromkeys(link.text for link in found if link.kind == "text" and not cover([link]) <= explained))


def link_words(tokens: Sequence[Token], linked: Linked) -> Iterator[Link]:
    """Link taught words and definitions of the semantic model."""
    known = group_words(linked)
    for start, end, stems in spans(tokens):
        for word in known.get(stems, ()):
            yield from word_links(start, end, word, linked)


def link_opposites(found: Sequence[Link], linked: Linked) -> Iterator[Link]:
    """Link a word that nothing names clearly to the opposite of a taught one: "inactive", "non-billable"."""
    known = group_words(linked)
    named = cover(link for link in found if link.kind in NAMING and link.score > CLEAR)
    for at, token in enumerate(linked.tokens):
        for word in known.get((stem_word(drop_negation(token.lower)),), ()) if at not in named else ():
            meant = word_links(at, at + 1, word, linked)
            yield from (replace(link, is_opposite=True, text=word.names[0]) for link in meant)


def group_words(linked: Linked) -> Mapping[Phrase, Sequence[Word]]:
    """Return the taught words and the definitions of the semantic model by the stems of their names."""
    definitions = linked.index.model.definitions
    glossary = [Word(each.names, "glossary", "", each.table, each.condition, each.meaning) for each in definitions]
    by_stems: dict[Phrase, list[Word]] = {}
    for word in (*linked.vocabulary.words, *glossary):
        for name in () if starts_year(word) else word.names:
            by_stems.setdefault(stem_phrase(name), []).append(word)
    return by_stems


def link_last_rows(linked: Linked) -> Iterator[Link]:
    """Link "they" to the rows of the last answer, if it showed some of the rows only: "top 5 customers by sales"."""
    last, index = linked.last, linked.index
    pronouns = find_pronouns(linked.tokens)
    table = find_listed(last) if last and (last.limit is not None or last.having) else ""
    if last is None or not pronouns or not table:
        return
    label = label_frame(last, index, linked.question)
    with suppress(CannotRender):
        name = f"among {label[:1].lower()}{label[1:]}"
        rows = Filter(Ref(table, name=name), "where", (render_keys(last, index, table),), is_text=False)
        fragment = Frame(table, filters=(rows,))
        yield from (Link(start, end, "definition", fragment=fragment, text=text) for start, end, text in pronouns)


def find_listed(frame: Frame) -> str:
    """Return the table whose rows a frame lists or shows figures of, one in each line."""
    if not frame.metrics and not frame.groups:
        return frame.subject
    tables = [each.of.table for each in frame.groups if each == Group(Ref(each.of.table))]
    return tables[0] if len(tables) == len(frame.groups) == 1 else ""


def find_pronouns(tokens: Sequence[Token]) -> list[tuple[int, int, str]]:
    """Return the words that stand for the rows of the last answer, with their places."""
    found = ((start, end, "".join(each.lower for each in tokens[start:end])) for start, end, _ in spans(tokens, 2))
    return [each for each in found if each[2] in PRONOUNS]


def link_states(tokens: Sequence[Token], index: SchemaIndex, today: date) -> Iterator[Link]:
    """Link words that say what has become of a row: "unpaid", "outstanding", "open", "overdue"."""
    columns = [column for info in index.tables.values() for column in info.columns.values()]
    for start, end, _ in spans(tokens, 2):
        state, lacks = read_state(tokens[start:end])
        link = Link(start, end, "definition", STATE if state and state != "owed" else 1.0,
                    text=" ".join(each.text for each in tokens[start:end]))  # fmt: skip
        for column in columns if state or lacks else ():
            if found := find_state(column, state, lacks, index, today):
                yield replace(link, fragment=found)


def read_state(words: Sequence[Token]) -> tuple[str, str]:
    """Return the state that words name, or the stem of what is lacking: "unpaid" rows lack "paid"."""
    state = next((each.value for each in find_operators(words) if each.kind == "state"), "")
    is_lack = len(words) == 1 and words[0].lower.startswith("un") and not state
    return state, stem_word(words[0].lower[2:]) if is_lack else ""


def find_state(column: ColumnInfo, state: str, lacks: str, index: SchemaIndex, today: date) -> Frame | None:
    """Return the condition on a column that a state, or a word for what a row lacks, stands for: a flag says no, or a
    date or a reference is missing."""
    if state == "late":
        return find_deadline(column, index, today)
    is_end = not STATES.get(state, frozenset()).isdisjoint(column.words)
    is_named = bool(lacks) and any(compare_words(word, lacks) for word in column.words)
    ref = Ref(column.table, column.name)
    if not (is_end or is_named):
        return None
    if column.yes:
        op: Op = "!=" if len(column.yes) == 1 else "not in"
        return Frame(column.table, filters=(Filter(ref, op, column.yes, is_text=column.type == "text"),))
    return Frame(column.table, filters=(Filter(ref, "is null"),)) if column.role in ("moment", "foreign") else None


def find_deadline(column: ColumnInfo, index: SchemaIndex, today: date) -> Frame | None:
    """Return the condition that a date when something was due is over, and that nobody has paid since."""
    if column.role != "moment" or DUE.isdisjoint(column.words):
        return None
    others = index.tables[column.table].columns.values()
    paid = [
        Ref(column.table, each.name) for each in others if each.role == "moment" and not PAID.isdisjoint(each.words)
    ]
    over = Period(Ref(column.table, column.name), None, today.isoformat())
    return Frame(column.table, filters=tuple(Filter(ref, "is null") for ref in paid[:1]), periods=(over,))


def word_links(start: int, end: int, word: Word, linked: Linked) -> Iterator[Link]:
    """A name of something in the schema links to it; a condition or a meaning becomes a definition."""
    tier, text = TIERS[word.tier], " ".join(token.text for token in linked.tokens[start:end])
    if word.target or word.expression:
        for target in taught_targets(word, linked.index):
            yield Link(start, end, target.kind, 1.0, tier, target, text=text)
        return
    table = find_table(word.table, linked.index)
    if word.condition:
        condition = Filter(Ref(table, name=text), "where", (word.condition,), is_text=False)
        fragments = [(Frame(table, filters=(condition,)), 1.0)] if table else []
    else:
        fragments = read_meaning(word, linked, end) if word.meaning else []
    for fragment, score in fragments:
        yield Link(start, end, "definition", score, tier, fragment=fragment, text=text)
    if word.meaning and not fragments:
        # Keeps columns of the same name away: a taught meaning is never replaced silently.
        yield Link(start, end, "definition", 0.0, tier, text=text)


def taught_targets(word: Word, index: SchemaIndex) -> list[Target]:
    """Return what a taught name or expression stands for; nothing if its table is unknown."""
    table = find_table(word.table, index)
    if word.target or not table:
        return named_targets(word.target, index) if word.target else []
    is_column = index.column(table, word.expression) is not NO_COLUMN
    expression = draft.quote_name(word.expression) if is_column else word.expression
    return [Target("measure", table, "", expression, word.aggregate)]


def read_meaning(word: Word, linked: Linked, end: int) -> list[tuple[Frame, float]]:
    # definitions.py composes, and composing needs links.
    from recollect.apps.ask.interpret import definitions

    return definitions.read_meaning(word, linked, end)


def find_table(name: str, index: SchemaIndex) -> str:
    return next((each for each in index.tables if each.casefold() == name.casefold()), "")


def named_targets(name: str, index: SchemaIndex) -> list[Target]:
    """Return what a taught target names: a table, `table.column`, or a name of the schema. A column that is added up or
    averaged when it is named is its measure."""
    table, _, column = name.rpartition(".")
    if found := find_table(name, index):
        return [Target("entity", found)]
    owner = find_table(table, index)
    for each in index.tables[owner].columns if owner else ():
        if each.casefold() == column.casefold():
            measures = (m for m in index.model.measures if m.table == owner and plain_name(m.expression) == each)
            return [next(map(measure_target, measures), Target("column", owner, each))]
    exact = index.names.get(stem_phrase(name), {})
    best = max(exact.values(), default=0.0)
    return [target for target, score in exact.items() if score == best]
