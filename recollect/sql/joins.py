"""Joins: the ways between tables. Going from a row to the row that it names (forward) multiplies nothing; going back
does. `ways` gives the shortest ways, forward ones before any other; reading.py asks where two are as good, render.py
joins along one. A way is a tuple of steps, so that two ways to one table are two aliases.

No way goes up and then down (a loan, its reader, his branch, all books of that branch): the two ends have nothing to do
with each other. Only a table that does nothing but join may be entered from above: the actors of a rental's film.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from recollect.sql.catalog import Catalog
from recollect.sql.lexicon import join_id
from recollect.sql.recent import Recent
from recollect.sql.semantic import Join, SemanticModel

LONGEST = 7
ENOUGH = 50  # rows; of fewer it may be by chance that no value comes twice


@dataclass(frozen=True, slots=True)
class Step:
    """From one table to another; `is_safe`: each row finds at most one."""

    join: Join
    is_forward: bool
    is_safe: bool
    is_single: bool = False  # one to one, whichever way it is gone

    @property
    def table(self) -> str:
        return self.join.to if self.is_forward else self.join.table

    @property
    def origin(self) -> str:
        return self.join.table if self.is_forward else self.join.to

    @property
    def id(self) -> str:
        return join_id(self.join.table, self.join.columns)


Way = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Graph:
    steps: Mapping[str, tuple[Step, ...]]
    bridges: frozenset[str]  # tables that only join others

    def ways(self, base: str, to: str, via: Iterable[str] = ()) -> tuple[Way, ...]:
        """The shortest ways; only those that multiply nothing, if there is one. `via`: joins that must be used."""
        wanted = frozenset(via)
        if base == to and not wanted:
            return ((),)
        safe = self.shortest(base, to, wanted, only_safe=True)
        straight = safe or self.shortest(base, to, wanted, only_safe=False)
        return straight or self.shortest(base, to, wanted, only_safe=False, over=self.bridges)

    def shortest(
        self,
        base: str,
        to: str,
        wanted: frozenset[str],
        *,
        only_safe: bool,
        without: frozenset[str] = frozenset(),
        most: int = LONGEST,
        over: frozenset[str] = frozenset(),
    ) -> tuple[Way, ...]:
        """`without` are joins and tables that must not be used, `most` is how far to look, `over` are tables that may
        be entered from above."""
        level: list[Way] = [()]
        for _ in range(most):
            steps = ((way, step) for way in level for step in self.next_steps(way, base, only_safe, wanted))
            level = [
                (*way, step)
                for way, step in steps
                if step.id not in without and step.table not in without and (step.table in over or not turns(way, step))
            ]
            found = tuple(way for way in level if way[-1].table == to and wanted <= {step.id for step in way})
            if found or not level:
                return found
        return ()

    def next_steps(self, way: Way, base: str, only_safe: bool, wanted: frozenset[str]) -> list[Step]:
        at = way[-1].table if way else base
        seen = {base, *(step.table for step in way)}
        steps = self.steps.get(at, ())
        return [s for s in steps if (s.is_safe or not only_safe) and (s.table not in seen or s.id in wanted)]


def ways_through(
    graph: Graph, base: str, to: str, nouns: Iterable[str], ways: tuple[Way, ...], *, may_multiply: bool = False
) -> tuple[Way, ...]:
    """Ways over what the question is about, where the shortest goes past it: the department of the course, though the
    student's is nearer. None, if a shortest one goes over such a noun itself, or begins at one."""
    near = {step.table for way in ways for step in way[:-1]}
    found = []
    for noun in sorted({*nouns} - {base, to}):
        first, second = graph.ways(base, noun), graph.ways(noun, to)
        if noun in near or len(first) != 1 or len(second) != 1 or not is_safe(second[0]):
            continue
        if not is_safe(first[0]) and not may_multiply:
            continue
        way = (*first[0], *second[0])
        if len({base, *(step.table for step in way)}) == len(way) + 1:
            found.append(way)
    return tuple(dict.fromkeys(found)) if not near & {*nouns} else (*ways, *found) if found else ()


def is_safe(way: Way) -> bool:
    return all(step.is_safe for step in way)


def turns(way: Way, step: Step) -> bool:
    """Down, after it has gone up."""
    return not step.is_safe and any(each.is_safe and not each.is_single for each in way)


def made_graph(model: SemanticModel, catalog: Catalog) -> Graph:
    steps: dict[str, list[Step]] = defaultdict(list)
    for join in model.joins:
        is_single = is_one_to_one(join, catalog)
        steps[join.table].append(Step(join, True, True, is_single))
        steps[join.to].append(Step(join, False, is_single, is_single))
    said = {entity.table for entity in model.entities} & {m.table for m in model.measures}
    tables = {table.name for table in catalog.tables}
    bridges = frozenset(t for t in tables - said if t not in {e.table for e in model.entities})
    return Graph({table: tuple(found) for table, found in steps.items()}, bridges)


def is_one_to_one(join: Join, catalog: Catalog) -> bool:
    table = catalog.table(join.table)
    if table is None:
        return False
    if set(table.primary_key) == set(join.columns):
        return True
    column = table.column(join.columns[0]) if len(join.columns) == 1 else None
    return bool(column and column.is_unique and (column.type != "text" or (table.rows or 0) >= ENOUGH))


graph_of = Recent(made_graph)
