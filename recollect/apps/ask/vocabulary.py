"""Query vocabulary: memories and session context as the interpreter takes them (interpret.Vocabulary).

`build_vocabulary` decides for one source what each taught word stands for: another name of a table or column, a figure,
a condition, or a meaning in words that the interpreter reads itself. Pure; memory.py reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from recollect.apps.ask.interpret import Candidate, DefaultFilter, SchemaIndex, Vocabulary, Word
from recollect.apps.ask.interpret.link import Tier, named_targets
from recollect.apps.ask.interpret.words import split_name, stem_phrase
from recollect.apps.ask.question import Assumption, Scalar, SessionContext
from recollect.apps.ask.semantic.catalog import Catalog, Column, Table
from recollect.apps.ask.semantic.conditions import find_columns, find_tables_for, ground_condition
from recollect.apps.ask.semantic.model import SemanticModel
from recollect.recall.question_terms import terms_in
from recollect.values.memory import Memory
from recollect.values.resolution import Resolution
from recollect.values.text import stem_term

TIERS: Mapping[str, Tier] = {"session": "session", "user": "user", "project": "project", "ontology": "glossary"}
# "I mean", "active means", "it is defined as": the meaning itself follows.
OPENER = re.compile(
    r"^.{0,80}?\b(?:i (?:mean|call)(?: by (?:it|that))?|means?|(?:is |are )?defined as|refers? to)\b[:,]?\s+(?:that )?",
    re.IGNORECASE,
)
REFERS = re.compile(
    r"^(?:(?:it |they |this )?(?:refers? to|means?|stands? for|is|are|call(?:ed)?)\s+)?(?:the |our |all )*"
    r"[\"'`\[]?([\w.]+?)[\"'`\]]?\s*(?:table|column|field|view|表|列|字段)?s?\.?$",
    re.IGNORECASE,
)
# In "call our customers clients", "clients" means "customers".
CALLS = re.compile(
    r"^(?:please )?(?:call|refer to) (?:our |the |my |all )*(?P<meant>[\w ]+?) (?:as )?(?P<said>[\w-]+)\W*$",
    re.IGNORECASE,
)
AGGREGATE = re.compile(r"^\s*(sum|avg|min|max|count)\s*\(\s*(.+?)\s*\)\s*$", re.IGNORECASE | re.DOTALL)
TEST_FLAG = re.compile(
    r"^(?:is_?)?(?:test|internal|demo|sandbox)(?:_?(?:account|user|data|customer|flag))?$", re.IGNORECASE
)
TEST_KINDS = frozenset(("test", "internal", "demo", "sandbox"))
# "exclude_test_accounts", "exclude_test_accounts = true", "without closed customers"
EXCLUDE = re.compile(r"^\s*(?:exclude|excluding|without|hide|no)[\s_]+([\w ]+?)\s*(?:=\s*true)?\s*$", re.IGNORECASE)
DEFAULT_FILTER = "default_filter"
GRAIN_KEYS = ("time_grain", "aggregation")
GRAINS = {
    "hourly": "hour", "daily": "day", "weekly": "week", "monthly": "month", "quarterly": "quarter", "yearly": "year",
    **{unit: unit for unit in ("hour", "day", "week", "month", "quarter", "year")},
}  # fmt: skip
EDGES = " ?!.,;:\"'()。？！，"
MOST_TABLES = 3  # that one condition is tried on


@dataclass(frozen=True, slots=True)
class TaughtWord:
    """A word that somebody explained, and who; `word` is how the interpreter reads it."""

    term: str
    meaning: str
    source: str
    confidence: float
    word: Word


@dataclass(frozen=True, slots=True)
class StandingFilter:
    """A condition that holds for every question about its table."""

    filter: DefaultFilter
    column: str
    source: str
    confidence: float


@dataclass(frozen=True, slots=True)
class Taught:
    """What memory and the session say about this source. `notes` name what could not be used."""

    words: tuple[TaughtWord, ...] = ()
    filters: tuple[StandingFilter, ...] = ()
    time_focus: str = ""
    notes: tuple[str, ...] = ()
    grain: str = ""  # of figures over time, where a question names no unit

    @property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(
            tuple(each.word for each in self.words),
            tuple(each.filter for each in self.filters),
            self.time_focus,
            self.grain,
        )


def build_vocabulary(
    question: str,
    resolutions: Iterable[Resolution],
    preferences: Sequence[tuple[str, Memory]],
    context: SessionContext,
    index: SchemaIndex,
    today: date,
) -> Taught:
    """Return what is taught about this source. `preferences` are (tier, memory), the user's before the project's."""
    words = [word for each in resolutions for word in explain_word(each, question, index, today)]
    filters, notes = list_session_filters(context, index.catalog)
    filters += list_remembered_filters(preferences, index.catalog, today)
    first = {(each.filter.table.casefold(), each.column.casefold()): each for each in reversed(filters)}
    grains = [GRAINS.get(memory.value.strip().casefold(), "") for _, memory in preferences if memory.key in GRAIN_KEYS]
    grain = next(filter(None, grains), "")
    return Taught(tuple(words), tuple(reversed(first.values())), context.time_focus, tuple(notes), grain)


def list_terms(question: str, most: int) -> list[str]:
    """Return what in a question may be a taught term: runs of one to four words, Chinese as `terms_in` has them."""
    words = question.split()
    runs = [" ".join(words[at : at + n]).strip(EDGES) for n in range(1, 5) for at in range(len(words) - n + 1)]
    by_stem = {stem_term(run): run for run in reversed(runs)}
    return [by_stem.get(stem, stem) for stem in terms_in(question)[:most]]


# Words ---------------------------------------------------------------------------------------------------------------


def explain_word(said: Resolution, question: str, index: SchemaIndex, today: date) -> Iterator[TaughtWord]:
    """Yield how a taught term can be read in this source; several where a condition fits several tables."""
    if not said.meaning or said.tier is None:
        return
    for word in make_words(said, question, index, today):
        yield TaughtWord(said.term, said.meaning, said.tier, said.confidence, word)


def make_words(said: Resolution, question: str, index: SchemaIndex, today: date) -> list[Word]:
    tier, meaning = TIERS[said.tier or "project"], said.meaning or ""
    is_glossary = tier == "glossary"
    # The names of a source's own model are in its index, and those of other sources mean nothing here.
    if is_glossary and (not said.sql or said.data_source):
        return []
    if said.sql and (words := words_from_sql(said.term, said.sql, tier, question, index, today)):
        return words
    if is_glossary:
        return []
    called = CALLS.match(meaning.strip())
    if called and stem_term(called["meant"]) == stem_term(said.term):
        # The meaning of "customers" in "call our customers clients" is left as it is.
        return [Word((called["said"],), tier, target=called["meant"])]
    name = name_in(said.term, OPENER.sub("", meaning, count=1))
    if name and named_targets(name, index):
        return [Word((said.term,), tier, target=name)]
    plain = OPENER.sub("", meaning, count=1)
    for text in dict.fromkeys((meaning, plain)):
        if words := words_from_sql(said.term, text, tier, question, index, today):
            return words
    names = (said.term, *shorten_term(said.term, question, index.model))
    return [Word(names[-1:], tier, meaning=plain)]


def words_from_sql(
    term: str, sql: str, tier: Tier, question: str, index: SchemaIndex, today: date
) -> list[Word]:  # fmt: skip
    """Return the term as a figure (an aggregate) or as a condition, once per table that has its columns."""
    catalog = index.catalog
    preferred = tables_in(term, index.model) or tables_in(question, index.model)
    if figure := AGGREGATE.match(sql):
        tables = find_tables_for(figure[2], catalog, preferred)
        expression = (ground_condition(figure[2], catalog.dialect, today) or figure[2]).strip('"')
        return [
            Word((term,), tier, table=table.name, expression=expression, aggregate=figure[1].lower())
            for table in tables[:1]
        ]
    tables = find_tables_for(sql, catalog, preferred)
    condition = ground_condition(sql, catalog.dialect, today) if tables else None
    if condition is None or condition.strip('" ').isidentifier():
        return []
    return [
        Word((shorten(term, table.name, index.model),), tier, table=table.name, condition=condition)
        for table in tables[:MOST_TABLES]
    ]


def name_in(term: str, meaning: str) -> str:
    """Return the name of a table or column that a meaning consists of, or an empty string."""
    found = CALLS.match(meaning.strip())
    if found and stem_term(found["said"]) == stem_term(term):
        return found["meant"]
    refers = REFERS.match(meaning.strip())
    return refers[1] if refers else " ".join(meaning.split()).casefold()


def tables_in(text: str, model: SemanticModel) -> tuple[str, ...]:
    """Return the tables whose rows a text names."""
    stems = stem_phrase(text)
    runs = {stems[start:end] for start in range(len(stems)) for end in range(start + 1, min(start + 4, len(stems)) + 1)}
    return tuple(each.table for each in model.entities if any(stem_phrase(name) in runs for name in each.names))


def shorten_term(term: str, question: str, model: SemanticModel) -> tuple[str, ...]:
    return tuple(shorten(term, table, model) for table in tables_in(term, model)[:1])


def shorten(term: str, table: str, model: SemanticModel) -> str:
    """Return a term without the name of what it describes: "active" for an "active customer"."""
    words = term.casefold().split()
    for entity in model.entities:
        for name in entity.names if entity.table == table else ():
            count = len(name.split())
            if len(words) > count and stem_phrase(" ".join(words[-count:])) == stem_phrase(name):
                return " ".join(words[:-count])
    return term.casefold()


# Filters -------------------------------------------------------------------------------------------------------------


def list_remembered_filters(
    preferences: Iterable[tuple[str, Memory]], catalog: Catalog, today: date
) -> Iterator[StandingFilter]:
    """Yield the remembered filters that fit the source, the first of each column."""
    for tier, memory in preferences:
        key, _, place = memory.key.partition(":")
        if key != DEFAULT_FILTER:
            continue
        table = place.rpartition(".")[0]
        if excluded := EXCLUDE.match(memory.value):
            for owner, flag, comparison in find_excluded(excluded[1], catalog):
                made = write_filter(owner, flag, comparison, TIERS[tier])
                yield StandingFilter(made, flag.name, tier, memory.confidence)
            continue
        homes = find_tables_for(memory.value, catalog, (table,) if table else ())
        condition = ground_condition(memory.value, catalog.dialect, today) if len(homes) == 1 else None
        if condition is None or (table and homes[0].name.casefold() != table.casefold()):
            continue
        column = find_columns(memory.value, catalog.dialect)[0][1]
        kept = DefaultFilter(homes[0].name, condition, tier=TIERS[tier])
        yield StandingFilter(kept, column, tier, memory.confidence)


def list_session_filters(context: SessionContext, catalog: Catalog) -> tuple[list[StandingFilter], list[str]]:
    """Return the filters of a session, and a note for each that fits nothing here."""
    filters, notes = list[StandingFilter](), list[str]()
    for name, value in context.custom_filters.items():
        places = find_places(name, catalog)
        filters += [session_filter(table, column, f"= {write_literal(value)}") for table, column in places]
        notes += [] if places else [f"custom_filters: there is no column {name!r}"]
    if context.exclude_test:
        flags = find_excluded("test", catalog)
        filters += [session_filter(table, column, comparison) for table, column, comparison in flags]
        notes += [] if flags else ["exclude_test: no column says which rows are tests"]
    if context.user_segment:
        found = find_value(context.user_segment, catalog)
        filters += [session_filter(*found[0][:2], f"= {write_literal(found[0][2])}")] if len(found) == 1 else []
        notes += [] if len(found) == 1 else [f"user_segment: no one column has the value {context.user_segment!r}"]
    return filters, notes


def session_filter(table: Table, column: Column, comparison: str) -> StandingFilter:
    return StandingFilter(write_filter(table, column, comparison, "session"), column.name, "session", 1.0)


def write_filter(table: Table, column: Column, comparison: str, tier: Tier) -> DefaultFilter:
    """Return the filter `column = value`, or NOT column without a comparison."""
    name = '"' + column.name.replace('"', '""') + '"'
    return DefaultFilter(table.name, f"{name} {comparison}" if comparison else f"NOT {name}", tier=tier)


def find_excluded(what: str, catalog: Catalog) -> list[tuple[Table, Column, str]]:
    """Return the columns that say which rows are of a kind ("test_accounts"), with the comparison that leaves those
    out: a flag of that name, or else a value."""
    words = what.casefold().replace("_", " ").split()
    columns = [(table, column) for table in catalog.tables for column in table.columns]
    if words[0] in TEST_KINDS:
        return [(table, column, "") for table, column in columns if TEST_FLAG.match(column.name)]
    wanted = stem_phrase(" ".join(words))
    flags = [
        (table, column, "")
        for table, column in columns
        if column.type == "boolean" and stem_phrase(" ".join(split_name(column.name)).removeprefix("is ")) == wanted
    ]
    values = [
        (table, column, f"<> {write_literal(value)}")
        for table, column in columns
        for value in column.values
        if stem_phrase(value) == wanted
    ]
    return flags or values


def find_places(name: str, catalog: Catalog) -> list[tuple[Table, Column]]:
    owner, _, column = name.casefold().rpartition(".")
    tables = [each for each in catalog.tables if not owner or each.name.casefold() == owner]
    return [(table, there) for table in tables if (there := table.column(column))]


def find_value(value: str, catalog: Catalog) -> list[tuple[Table, Column, str]]:
    """Return where a value stands in the data, as far as the catalog shows it."""
    wanted = value.casefold()
    return [
        (table, column, stored)
        for table in catalog.tables
        for column in table.columns
        for stored in column.values
        if stored.casefold() == wanted
    ]


def write_literal(value: Scalar) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return str(value) if isinstance(value, int | float) else "'" + value.replace("'", "''") + "'"


# Assumptions ---------------------------------------------------------------------------------------------------------


def list_assumptions(taught: Taught, candidate: Candidate) -> tuple[Assumption, ...]:
    """Return what of the vocabulary an interpretation uses, each word once."""
    used = {stem_phrase(words) for words, _ in candidate.links} | {stem_phrase(text) for text in candidate.assumptions}
    made = {
        each.term.casefold(): Assumption(each.term, each.meaning, each.source, each.confidence)
        for each in reversed(taught.words)
        if any(stem_phrase(name) in used for name in each.word.names) and is_about(each.word, candidate)
    }
    conditions = {each.values[0] for each in candidate.frame.filters if each.op == "where"}
    filters = [
        Assumption(f"{each.filter.table}.{each.column}", each.filter.condition, each.source, each.confidence)
        for each in taught.filters
        if each.filter.condition in conditions
    ]
    is_focused = bool(taught.time_focus) and taught.time_focus in candidate.assumptions
    focus = [Assumption("period", taught.time_focus, "session", 1.0)] if is_focused else []
    return (*reversed(made.values()), *filters, *focus)


def is_about(word: Word, candidate: Candidate) -> bool:
    return not word.table or word.table in candidate.frame.tables
