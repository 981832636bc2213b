"""Told: what memory and the session say, as the frame parser wants it (known.py).

Pure. The host reads memory (Engine.resolve_all, Engine.memories); here it is decided what of that can be used with the
source at hand. What is known but cannot be turned into SQL is not dropped: it comes back as an open word, so that the
person can be asked for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from recollect.model.memory import Memory
from recollect.model.question_terms import terms_in
from recollect.model.resolution import Resolution
from recollect.model.term import term_stem
from recollect.sql.catalog import Catalog, Column, Table
from recollect.sql.conditions import columns_of, grounded, home_of
from recollect.sql.known import DefaultFilter, Known, Target
from recollect.sql.semantic import Aggregate, Definition, Entity, SemanticModel
from recollect.sql.session_context import Scalar, SessionContext
from recollect.sql.spoken import spoken_condition

REFERS = re.compile(
    r"^(?:(?:it |they |this )?(?:refers? to|means?|stands? for|is|are|call(?:ed)?)\s+)?(?:the |our |all )*"
    r"[\"'`\[]?([\w.]+?)[\"'`\]]?\s*(?:table|column|field|view|表|列|字段)?s?\.?$",
    re.IGNORECASE,
)
# "call our customers clients": who says clients, means customers.
CALLS = re.compile(
    r"^(?:please )?(?:call|refer to) (?:our |the |my |all )*(?P<meant>[\w ]+?) (?:as )?(?P<said>[\w-]+)\W*$",
    re.IGNORECASE,
)
AGGREGATE = re.compile(r"^\s*(sum|avg|min|max|count)\s*\(\s*(.+?)\s*\)\s*$", re.IGNORECASE | re.DOTALL)
TEST_FLAG = re.compile(
    r"^(?:is_?)?(?:test|internal|demo|sandbox)(?:_?(?:account|user|data|customer|flag))?$", re.IGNORECASE
)
DEFAULT_FILTER = "default_filter"
EDGES = " ?!.,;:\"'()。？！，"


@dataclass(frozen=True, slots=True)
class Open:
    """A word that somebody explained, but not so that it can be asked of this source."""

    term: str
    meaning: str
    source: str


@dataclass(frozen=True, slots=True)
class Told:
    known: Known
    open: tuple[Open, ...] = ()
    notes: tuple[str, ...] = ()


def told(
    question: str,
    resolutions: Iterable[Resolution],
    preferences: Sequence[tuple[str, Memory]],
    context: SessionContext,
    model: SemanticModel,
    catalog: Catalog,
    today: date,
) -> Told:
    """`preferences` are pairs of tier and memory, the user's before the project's."""
    said = [each for each in resolutions if each.meaning and (each.tier != "ontology" or each.sql)]
    made = [(each, meant(each, model, catalog, today)) for each in said]
    synonyms = {each.term.casefold(): target for each, target in made if isinstance(target, Target)}
    definitions = [each for _, each in made if isinstance(each, Definition)]
    entities = spoken_of(question, synonyms, model)
    unusable: list[Open] = []
    for each in (each for each, found in made if found is None):
        spoken = _as_spoken(each, entities, model, catalog, today)
        if spoken is not None:
            definitions.append(spoken)
        else:
            unusable.append(Open(each.term, each.meaning or "", each.tier or ""))
    focused, notes = session_filters(context, catalog)
    filters = (*focused, *remembered_filters(preferences, catalog, today))
    known = Known(synonyms, tuple(definitions), once(filters), habits(preferences), context.time_focus)
    return Told(known, tuple(unusable), notes)


def meant(said: Resolution, model: SemanticModel, catalog: Catalog, today: date) -> Target | Definition | None:
    """What a word stands for in this source, if that can be said."""
    source, meaning = said.tier or "", said.meaning or ""
    if said.sql:
        return _by_sql(said, said.sql, model, catalog, today)
    name = named(said.term, meaning)
    found = _by_name(name, model, catalog) or _by_measure(name, model)
    if found is not None:
        return replace(found, source=source, confidence=said.confidence, meaning=meaning)
    return _as_condition(said, meaning, model, catalog, today)


def phrases(question: str, most: int) -> list[str]:
    """What in a question could be a term, in its own words: runs of one to four, Chinese as `terms_in` has them."""
    words = question.split()
    runs = [" ".join(words[at : at + n]).strip(EDGES) for n in range(1, 5) for at in range(len(words) - n + 1)]
    by_stem = {term_stem(run): run for run in reversed(runs)}
    return [by_stem.get(stem, stem) for stem in terms_in(question)[:most]]


def named(term: str, meaning: str) -> str:
    """What a word is another name of, where the meaning says how to call something."""
    found = CALLS.match(meaning.strip())
    return found["meant"] if found and term_stem(found["said"]) == term_stem(term) else meaning


def adjective(term: str, table: str, model: SemanticModel) -> str:
    """Without what it is said of: an "active customer" is a customer that is "active"."""
    words = term.casefold().split()
    for entity in model.entities:
        for name in entity.names if entity.table == table else ():
            count = len(name.split())
            if len(words) > count and stems(" ".join(words[-count:])) == stems(name):
                return " ".join(words[:-count])
    return term.casefold()


def _by_sql(
    said: Resolution, sql: str, model: SemanticModel, catalog: Catalog, today: date
) -> Target | Definition | None:
    if figure := AGGREGATE.match(sql):
        home = home_of(figure[2], catalog)
        if home is None:
            return None
        aggregate: Aggregate = figure[1].lower()  # type: ignore[assignment]
        return Target(
            "measure",
            home.name,
            expression=figure[2],
            aggregate=aggregate,
            name=said.term,
            source=said.tier or "",
            confidence=said.confidence,
            meaning=said.meaning or "",
        )
    return _as_condition(said, sql, model, catalog, today)


def _as_condition(said: Resolution, sql: str, model: SemanticModel, catalog: Catalog, today: date) -> Definition | None:
    home = home_of(sql, catalog, named_in(said.term, model))
    condition = None if home is None else grounded(sql, catalog.dialect, today)
    if home is None or condition is None or condition.strip().isidentifier():
        return None
    names = (adjective(said.term, home.name, model),)
    return Definition(names, home.name, condition, said.tier or "", said.confidence, said.meaning or "")


def spoken_of(question: str, synonyms: Mapping[str, Target], model: SemanticModel) -> list[Entity]:
    """The entities that a question is about, by any word that is known for them."""
    words = stems(question)
    tables = {target.table for word, target in synonyms.items() if target.kind == "entity" and stems(word) <= words}
    return [
        entity
        for entity in model.entities
        if entity.table in tables or any(stems(name) and stems(name) <= words for name in entity.names)
    ]


def stems(text: str) -> set[str]:
    return set(term_stem(text).split())


def _as_spoken(
    said: Resolution, entities: Sequence[Entity], model: SemanticModel, catalog: Catalog, today: date
) -> Definition | None:
    """A meaning in plain words, read as a condition on what the question is about."""
    for entity in entities:
        condition = spoken_condition(said.meaning or "", entity, model, catalog, today)
        if condition is not None:
            names = (adjective(said.term, entity.table, model),)
            return Definition(names, entity.table, condition, said.tier or "", said.confidence, said.meaning or "")
    return None


def _by_name(meaning: str, model: SemanticModel, catalog: Catalog) -> Target | None:
    """A table, a column, or another word for one."""
    found = REFERS.match(meaning.strip())
    if found is None:
        return None
    name = found[1].casefold()
    if table := catalog.table(name):
        return Target("entity", table.name, name=entity_name(table.name, model))
    owner, _, column = name.rpartition(".")
    for table in catalog.tables:
        if (not owner or table.name.casefold() == owner) and (there := table.column(column)):
            return _column(table, there, model)
    entity = next((each for each in model.entities if name in each.names), None)
    return None if entity is None else Target("entity", entity.table, name=entity.names[0])


def _by_measure(meaning: str, model: SemanticModel) -> Target | None:
    """A figure, by its name and whose it is, as questions back offer it: "product price"."""
    name = " ".join(meaning.split()).casefold()
    for measure in model.measures:
        owner = entity_name(measure.table, model)
        if any(name == f"{owner} {own}" for own in measure.names):
            return Target(
                "measure",
                measure.table,
                expression=measure.expression,
                aggregate=measure.aggregate,
                name=measure.names[0],
            )
    return None


def _column(table: Table, column: Column, model: SemanticModel) -> Target:
    for measure in model.measures:
        if measure.table == table.name and measure.expression.casefold() == column.name.casefold():
            return Target(
                "measure",
                table.name,
                expression=measure.expression,
                aggregate=measure.aggregate,
                name=measure.names[0],
            )
    moment = any(each.table == table.name and each.column == column.name for each in model.moments)
    return Target("moment" if moment else "dimension", table.name, column.name, name=column.name.casefold())


def entity_name(table: str, model: SemanticModel) -> str:
    return next((each.names[0] for each in model.entities if each.table == table and each.names), table.casefold())


def named_in(term: str, model: SemanticModel) -> tuple[str, ...]:
    """Tables whose name is part of a term: "active user" is about users."""
    words = f" {term.casefold()} "
    return tuple(
        entity.table for entity in model.entities if any(f" {name} " in words for name in (*entity.names, entity.table))
    )


def remembered_filters(
    preferences: Iterable[tuple[str, Memory]], catalog: Catalog, today: date
) -> Iterable[DefaultFilter]:
    """Those that fit the source; a condition that names its column says which table it is about."""
    for tier, memory in preferences:
        key, _, place = memory.key.partition(":")
        if key != DEFAULT_FILTER:
            continue
        table = place.rpartition(".")[0]
        home = home_of(memory.value, catalog, (table,) if table else ())
        condition = None if home is None else grounded(memory.value, catalog.dialect, today)
        if home is None or condition is None or (table and home.name.casefold() != table.casefold()):
            continue
        column = columns_of(memory.value, catalog.dialect)[0][1]
        yield DefaultFilter(home.name, column, condition, tier, memory.confidence)


def habits(preferences: Iterable[tuple[str, Memory]]) -> Mapping[str, str]:
    """What is usually meant where nothing is said; the user's own first."""
    kept: dict[str, str] = {}
    for _, memory in preferences:
        if memory.key.partition(":")[0] in ("time_grain", "aggregation"):
            kept.setdefault(memory.key, memory.value)
    return kept


def session_filters(context: SessionContext, catalog: Catalog) -> tuple[list[DefaultFilter], tuple[str, ...]]:
    """The filters of a session, and what could not be made one."""
    filters, notes = list(custom(context.custom_filters, catalog)), list(unknown(context.custom_filters, catalog))
    if context.exclude_test:
        flags = [(t, c) for t in catalog.tables for c in t.columns if TEST_FLAG.match(c.name)]
        filters += [DefaultFilter(t.name, c.name, f"NOT {quoted(c.name)}", "session", 1.0) for t, c in flags]
        notes += [] if flags else ["exclude_test: no column says what is a test"]
    if context.user_segment:
        found = segment(context.user_segment, catalog)
        filters += [] if found is None else [found]
        notes += [] if found else [f"user_segment: no one column has the value {context.user_segment!r}"]
    return filters, tuple(notes)


def custom(filters: Mapping[str, Scalar], catalog: Catalog) -> Iterable[DefaultFilter]:
    for name, value in filters.items():
        for table, column in places(name, catalog):
            condition = f"{quoted(column.name)} = {literal(value)}"
            yield DefaultFilter(table.name, column.name, condition, "session", 1.0)


def unknown(filters: Mapping[str, Scalar], catalog: Catalog) -> Iterable[str]:
    return (f"custom_filters: there is no column {name!r}" for name in filters if not places(name, catalog))


def places(name: str, catalog: Catalog) -> list[tuple[Table, Column]]:
    owner, _, column = name.casefold().rpartition(".")
    tables = [each for each in catalog.tables if not owner or each.name.casefold() == owner]
    return [(table, there) for table in tables if (there := table.column(column))]


def segment(value: str, catalog: Catalog) -> DefaultFilter | None:
    wanted = value.casefold()
    found = [
        (table, column, stored)
        for table in catalog.tables
        for column in table.columns
        for stored in column.values
        if stored.casefold() == wanted
    ]
    if len(found) != 1:
        return None
    table, column, stored = found[0]
    return DefaultFilter(table.name, column.name, f"{quoted(column.name)} = {literal(stored)}", "session", 1.0)


def once(filters: Iterable[DefaultFilter]) -> tuple[DefaultFilter, ...]:
    """One per column: the first that says so."""
    kept: dict[tuple[str, str], DefaultFilter] = {}
    for each in filters:
        kept.setdefault((each.table.casefold(), each.column.casefold()), each)
    return tuple(kept.values())


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def literal(value: Scalar) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return str(value) if isinstance(value, int | float) else "'" + value.replace("'", "''") + "'"
