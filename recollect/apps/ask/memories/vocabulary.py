"""Query vocabulary: memories and session context as the interpreter takes them (interpret.Vocabulary).

`build_vocabulary` decides for one source what each taught word stands for: another name of a table or column, a figure,
a condition, or a meaning in words that the interpreter reads itself. Pure; reader.py reads.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import repeat

from sqlglot import exp

from recollect.apps.ask.interpret import Candidate, DefaultFilter, SchemaIndex, Vocabulary, Word, link_question, propose
from recollect.apps.ask.interpret.frame import Frame, Metric
from recollect.apps.ask.interpret.index import Target
from recollect.apps.ask.interpret.link import CLEAR, Tier, link_names, named_targets, starts_year
from recollect.apps.ask.interpret.periods import FISCAL_YEAR, is_fiscal_word
from recollect.apps.ask.question import Assumption, Scalar, SessionContext, get_data
from recollect.apps.ask.semantic.catalog import Catalog, Column, Table
from recollect.apps.ask.semantic.model import SemanticModel
from recollect.apps.ask.sql_text import find_columns, find_tables_for, ground_condition
from recollect.apps.ask.words import drop_negation, split_name, stem_phrase, tokenize
from recollect.learning.definitions import find_definition_in_fact
from recollect.recall.question import terms_in
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
# What is said to be polite, at either end of a message.
COURTESY = re.compile(
    r"^(?:(?:(?:please|pls|ok|okay|hey|hi|thanks|thank you|(?:can|could|would) you)\b|请你?|麻烦你?)[\s,，]*)+"
    r"|(?:[\s,，]+(?:please|pls|thanks|thank you)|[\s,，]*谢谢)+(?=\W*$)",
    re.IGNORECASE,
)
CALLS = re.compile(
    r"^(?:(?:we|i|let's)(?: usually| always| also)? )?(?:call|refer to) "
    r"(?:our |the |my |all )*(?P<meant>[\w ]+?) (?:as )?(?P<said>[\w-]+)\W*$",
    re.IGNORECASE,
)
AGGREGATE = re.compile(r"^\s*(sum|avg|min|max|count)\s*\(\s*(.+?)\s*\)\s*$", re.IGNORECASE | re.DOTALL)
# The words of "quantity times unit price", with their signs.
SIGNS = {
    "times": "*", "multiplied by": "*", "*": "*", "x": "*", "×": "*", "乘以": "*", "乘": "*", "plus": "+", "+": "+",
    "加": "+", "minus": "-", "less": "-", "-": "-", "减去": "-", "减": "-", "divided by": "/", "/": "/", "除以": "/",
}  # fmt: skip
ARITHMETIC = re.compile(
    r"(\s(?:times|multiplied by|x|plus|minus|less|divided by)\s|\s*[*×+/]\s*|\s-\s|乘以|乘|加|减去|减|除以)",
    re.IGNORECASE,
)
PLAIN_NUMBER = re.compile(r"\d+(?:\.\d+)?")
TEST_FLAG = re.compile(
    r"^(?:is_?)?(?:test|internal|demo|sandbox)(?:_?(?:account|user|data|customer|flag))?$", re.IGNORECASE
)
TEST_KINDS = frozenset(("test", "internal", "demo", "sandbox"))
# "exclude_test_accounts", "exclude_test_accounts = true", "without closed customers"
EXCLUDE = re.compile(
    r"^\s*(?:exclude|excluding|without|hide|no)[\s_]+([^\W_][\w ]*?)\s*(?:=\s*true)?\s*$", re.IGNORECASE
)
DEFAULT_FILTER = "default_filter"
GRAIN_KEYS = ("time_grain", "aggregation")
GRAINS = {
    "hourly": "hour", "daily": "day", "weekly": "week", "monthly": "month", "quarterly": "quarter", "yearly": "year",
    **{unit: unit for unit in ("hour", "day", "week", "month", "quarter", "year")},
}  # fmt: skip
EDGES = " ?!.,;:\"'()。？！，"
MOST_TABLES = 3  # that one condition is tried on
MAX_NAME_WORDS = 3  # of another name for rows


@dataclass(frozen=True, slots=True)
class Taught:
    """What memory and the session say, and how it is read in this source: words, and filters that hold for every
    question about their table. `notes` name what could not be used."""

    words: tuple[tuple[Assumption, Word], ...] = ()
    filters: tuple[tuple[Assumption, DefaultFilter], ...] = ()
    time_focus: str = ""
    notes: tuple[str, ...] = ()
    grain: str = ""  # of figures over time, where a question names no unit

    @property
    def vocabulary(self) -> Vocabulary:
        words, filters = tuple(word for _, word in self.words), tuple(each for _, each in self.filters)
        return Vocabulary(words, filters, self.time_focus, self.grain)


def build_vocabulary(
    question: str,
    resolutions: Iterable[Resolution],
    preferences: Sequence[tuple[str, Memory]],
    context: SessionContext,
    index: SchemaIndex,
    today: date,
) -> Taught:
    """Return what is taught about this source. `preferences` are (tier, memory), the user's before the project's. Of
    several filters of a column the first counts, the session's before others."""
    words = [
        (Assumption(said.term, said.meaning or "", said.tier or "", said.confidence), word)
        for said in resolutions
        if is_meaning(said)
        for word in make_words(said, question, index, today)
    ]
    filters, notes = list_session_filters(context, index.catalog)
    filters += list_remembered_filters(preferences, index.catalog, today)
    first = {said.term.casefold(): (said, each) for said, each in reversed(filters)}
    grains = [GRAINS.get(memory.value.strip().casefold(), "") for _, memory in preferences if memory.key in GRAIN_KEYS]
    grain = next(filter(None, grains), "")
    return Taught(tuple(words), tuple(reversed(first.values())), context.time_focus, tuple(notes), grain)


def list_terms(question: str, most: int) -> list[str]:
    """Return what in a question may be a taught term: runs of one to four words, Chinese as `terms_in` has them."""
    words = question.split()
    runs = [" ".join(words[at : at + n]).strip(EDGES) for n in range(1, 5) for at in range(len(words) - n + 1)]
    by_stem = {stem_term(run): run for run in reversed(runs)}
    found = [by_stem.get(stem, stem) for stem in terms_in(question)[:most]]
    opposites = (drop_negation(word.strip(EDGES).lower()) for word in words)
    # However the fiscal year is abbreviated.
    return [*found, *filter(None, opposites), *([FISCAL_YEAR] if is_fiscal_word(question) else [])]


# Words ---------------------------------------------------------------------------------------------------------------


def make_words(said: Resolution, question: str, index: SchemaIndex, today: date) -> list[Word]:
    """Return how a taught term is read in this source: as a condition, which may fit several tables, as another name,
    as a figure, or else as a meaning in words, which the interpreter reads with the question."""
    term, tier, meaning = said.term, TIERS[said.tier or "project"], (said.meaning or "").strip()
    plain = strip_opening(meaning, tier)
    for text in dict.fromkeys(filter(None, (said.sql, meaning, plain, write_arithmetic(plain, index)))):
        if words := words_from_sql(term, text, tier, question, index, today):
            return words
    word = read_name(term, plain, index) or read_figure(plain, index, today) or read_other_name(term, plain, index)
    word = word or Word((shorten_term(term, index),), meaning=plain)
    return [replace(word, names=word.names or (term,), tier=tier)]


def is_meaning(said: Resolution) -> bool:
    """Return whether a resolution says what a term means. The names of a source's own model are in its index, and those
    of other sources mean nothing here; the ontology's texts about tables, columns and values describe them."""
    is_description = said.tier == "ontology" and not str(said.source).startswith("glossary:")
    return said.is_resolved and not said.data_source and bool(said.sql or not is_description)


def strip_opening(meaning: str, tier: Tier) -> str:
    """Return a meaning without the words before it ("I mean ..."); the project's knowledge is told in sentences."""
    defined = find_definition_in_fact(meaning) if tier == "project" else None
    return defined[1] if defined else OPENER.sub("", meaning, count=1)


def strip_courtesy(message: str) -> str:
    """Return a message without "please" and the like at its ends."""
    return COURTESY.sub("", message.strip())


def read_name(term: str, meaning: str, index: SchemaIndex) -> Word | None:
    """Return another name of what a meaning names; None if it names nothing in this source. The meaning of "customers"
    in "call our customers clients" is left as it is."""
    called = CALLS.match(meaning)
    if called and stem_term(term) in (stem_term(called["meant"]), stem_term(called["said"])):
        return Word((called["said"],), target=called["meant"])
    refers = REFERS.match(meaning)
    name = refers[1] if refers else " ".join(meaning.split()).casefold()
    return Word((), target=name) if named_targets(name, index) else None


def read_other_name(term: str, meaning: str, index: SchemaIndex) -> Word | None:
    """Return a meaning as another name of the rows that the term names: who says that customers are called clients may
    use both words. None if the term names no table, or the meaning is more than a name."""
    is_rows = any(target.kind == "entity" for target in named_targets(term, index))
    return Word((meaning,), target=term) if is_rows and len(meaning.split()) <= MAX_NAME_WORDS else None


def read_figure(text: str, index: SchemaIndex, today: date) -> Word | None:
    """Return the figure that a text consists of ("number of orders"), read like a question; None if it says more."""
    best = next(iter(propose(link_question(text, index, today=today), most=1)), None)
    if best is None or best.unexplained or len(best.frame.metrics) != 1:
        return None
    [metric] = best.frame.metrics
    # It is a figure if the frame has nothing else.
    if replace(best.frame, order=()) != Frame(best.frame.subject, (Metric(metric.aggregate, metric.of),)):
        return None
    of, key = metric.of, index.tables[metric.of.table].key
    expression = of.expression or of.column or (key[0] if metric.aggregate == "count" and len(key) == 1 else "")
    return Word((), table=of.table, expression=expression, aggregate=metric.aggregate) if expression else None


def write_arithmetic(text: str, index: SchemaIndex) -> str:
    """Return the total of an expression of columns in words ("quantity times unit price") as SQL over one table, or ""
    if the text is not such an expression. Columns are divided by numbers only: a total of ratios means nothing."""
    names = [part.strip() for part in ARITHMETIC.split(text.strip().rstrip("."))]
    signs = ["+", *(SIGNS[name.casefold()] for name in names[1::2])]
    operands = list(map(read_operand, names[::2], signs, repeat(index)))
    tables = sorted(set.intersection(*map(set, operands)))
    if not tables or len(names) == 1 or all(map(PLAIN_NUMBER.fullmatch, names[::2])):
        return ""
    written = "".join(f" {sign} {operand[tables[0]]}" for sign, operand in zip(signs, operands, strict=True))
    return f"sum({written.removeprefix(' + ')})"


def read_operand(name: str, sign: str, index: SchemaIndex) -> dict[str, str]:
    """Return the column that a name means in each table; a number is the same in all."""
    if PLAIN_NUMBER.fullmatch(name):
        return dict.fromkeys(index.tables, name)
    targets = named_targets(name, index) if sign != "/" else ()
    return {each.table: each.column for each in targets if is_amount(each, index)}


def is_amount(target: Target, index: SchemaIndex) -> bool:
    """Return whether a name means a column that can be calculated with."""
    info = index.column_of(target)
    return bool(target.column) and info.is_number and not info.is_key


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
        Word((shorten_term(term, index, table.name),), tier, table=table.name, condition=condition)
        for table in tables[:MOST_TABLES]
    ]


def tables_in(text: str, model: SemanticModel) -> tuple[str, ...]:
    """Return the tables whose rows a text names."""
    stems = stem_phrase(text)
    runs = {stems[start:end] for start in range(len(stems)) for end in range(start + 1, min(start + 4, len(stems)) + 1)}
    return tuple(each.table for each in model.entities if any(stem_phrase(name) in runs for name in each.names))


def shorten_term(term: str, index: SchemaIndex, table: str = "") -> str:
    """Return a term without the name of the rows that it describes, those of the table or any: "active" for "active
    customers"."""
    tokens = tokenize(term)
    starts = [
        link.start for link in link_names(tokens, index)
        if link.kind == "entity" and link.end == len(tokens) and link.score > CLEAR
        and table in ("", link.target.table)
    ]  # fmt: skip
    kept = tokens[: min(starts, default=0)]
    text = "".join(f"{' ' if token.lower.isascii() else ''}{token.lower}" for token in kept).strip()
    return text or term.casefold()


# Filters -------------------------------------------------------------------------------------------------------------

Place = tuple[Table, Column, str]  # with a comparison that leaves out or keeps rows; "" stands for NOT
Filters = list[tuple[Assumption, DefaultFilter]]


def list_remembered_filters(preferences: Iterable[tuple[str, Memory]], catalog: Catalog, today: date) -> Filters:
    """Return the remembered filters that fit the source."""
    made = Filters()
    for tier, memory in preferences:
        key, _, place = memory.key.partition(":")
        excluded = EXCLUDE.match(memory.value)
        if key == DEFAULT_FILTER and excluded:
            made += [make_filter(*each, tier, memory.confidence) for each in find_excluded(excluded[1], catalog)]
        elif key == DEFAULT_FILTER:
            made += read_filter(memory, place.rpartition(".")[0], tier, catalog, today)
    return made


def read_filter(memory: Memory, table: str, tier: str, catalog: Catalog, today: date) -> Filters:
    """Return a remembered condition as a filter of the table that it names, or of the only one that has its columns."""
    homes = find_tables_for(memory.value, catalog, (table,) if table else ())
    condition = ground_condition(memory.value, catalog.dialect, today) if len(homes) == 1 else None
    if condition is None or table.casefold() not in ("", homes[0].name.casefold()):
        return []
    column = find_columns(memory.value, catalog.dialect)[0][1]
    words = str(get_data(memory).get("label", "")).partition(", ")[2]
    said = Assumption(f"{homes[0].name}.{column}", condition, tier, memory.confidence)
    return [(said, DefaultFilter(homes[0].name, condition, words, TIERS[tier]))]


def list_session_filters(context: SessionContext, catalog: Catalog) -> tuple[Filters, list[str]]:
    """Return the filters of a session, and a note for each that fits nothing here."""
    wanted = [
        (f"custom_filters: there is no column {name!r}", find_places(name, f"= {write_literal(value)}", catalog))
        for name, value in context.custom_filters.items()
    ]
    if context.exclude_test:
        wanted.append(("exclude_test: no column says which rows are tests", find_excluded("test", catalog)))
    if segment := context.user_segment:
        found = find_values(lambda value: value.casefold() == segment.casefold(), "=", catalog)
        wanted.append((f"user_segment: no one column has the value {segment!r}", found if len(found) == 1 else []))
    filters = [make_filter(*place, "session", 1.0) for _, places in wanted for place in places]
    return filters, [note for note, places in wanted if not places]


def make_filter(
    table: Table, column: Column, comparison: str, source: str, confidence: float
) -> tuple[Assumption, DefaultFilter]:  # fmt: skip
    """Return the filter `column = value`, or NOT column without a comparison."""
    name = '"' + column.name.replace('"', '""') + '"'
    condition = f"{name} {comparison}" if comparison else f"NOT {name}"
    said = Assumption(f"{table.name}.{column.name}", condition, source, confidence)
    return said, DefaultFilter(table.name, condition, tier=TIERS[source])


def find_excluded(what: str, catalog: Catalog) -> list[Place]:
    """Return the columns that say which rows are of a kind ("test_accounts"), with the comparison that leaves those
    out: a flag of that name, or else a value."""
    words = what.casefold().replace("_", " ").split()
    wanted, is_test = stem_phrase(" ".join(words)), words[0] in TEST_KINDS

    def is_flag(column: Column) -> bool:
        name = " ".join(split_name(column.name)).removeprefix("is ")
        if is_test:
            return TEST_FLAG.match(column.name) is not None
        return column.type == "boolean" and stem_phrase(name) == wanted

    flags = [(table, column, "") for table in catalog.tables for column in table.columns if is_flag(column)]
    return flags if flags or is_test else find_values(lambda value: stem_phrase(value) == wanted, "<>", catalog)


def find_places(name: str, comparison: str, catalog: Catalog) -> list[Place]:
    """Return the columns of a name, which may be `table.column`."""
    return [
        (table, column, comparison)
        for table in catalog.tables
        for column in table.columns
        if name.casefold() in (column.name.casefold(), f"{table.name}.{column.name}".casefold())
    ]


def find_values(fits: Callable[[str], bool], sign: str, catalog: Catalog) -> list[Place]:
    """Return where values that fit stand in the data, as far as the catalog shows them."""
    return [
        (table, column, f"{sign} {write_literal(value)}")
        for table in catalog.tables
        for column in table.columns
        for value in column.values
        if fits(value)
    ]


def write_literal(value: Scalar) -> str:
    return str(exp.convert(value).sql())


# Assumptions ---------------------------------------------------------------------------------------------------------


def list_assumptions(
    taught: Taught, candidate: Candidate, unread: Collection[Assumption] = ()
) -> list[Assumption]:  # fmt: skip
    """Return what of the vocabulary an interpretation uses, each word once; nothing that could not be read."""
    used = [said for said, word in taught.words if is_used(word, candidate)]
    used += [said for said, each in taught.filters if is_applied(each, candidate)]
    if taught.time_focus in candidate.assumptions:
        used.append(Assumption("period", taught.time_focus, "session", 1.0))
    once = {said.term.casefold(): said for said in reversed(used)}
    return [said for said in reversed(once.values()) if said not in unread]


def is_applied(standing: DefaultFilter, candidate: Candidate) -> bool:
    return any(each.op == "where" and standing.condition in each.values for each in candidate.frame.filters)


def is_used(word: Word, candidate: Candidate) -> bool:
    """Return whether an interpretation has read a taught word, and uses its table."""
    read = {stem_phrase(text) for text in (*dict(candidate.links), *candidate.assumptions)}
    if starts_year(word):
        return any(is_fiscal_word(each.text) for each in candidate.frame.periods)
    return word.table in ("", *candidate.frame.tables) and not read.isdisjoint(map(stem_phrase, word.names))


def has_words(phrases: Iterable[str], text: str) -> bool:
    """Return whether a text has the words of one of these phrases, in any of their forms."""
    said = f" {' '.join(stem_phrase(text))} "
    return any(f" {' '.join(stems)} " in said for stems in map(stem_phrase, phrases) if stems)
