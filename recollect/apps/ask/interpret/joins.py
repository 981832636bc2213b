"""Join graph: how the tables of a source are connected, and the shortest way between two of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from recollect.apps.ask.semantic.model import Join


@dataclass(frozen=True, slots=True)
class Step:
    """One join on a path. Forward goes from the row that holds the key to the row it names (many to one)."""

    join: Join
    is_forward: bool

    @property
    def source(self) -> str:
        return self.join.table if self.is_forward else self.join.to

    @property
    def target(self) -> str:
        return self.join.to if self.is_forward else self.join.table

    @property
    def columns(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The columns that are compared: of the source, and of the target."""
        near, far = self.join.columns, self.join.to_columns
        return (near, far) if self.is_forward else (far, near)


Path = tuple[Step, ...]
LONGEST = 5  # joins on a path


def join_name(join: Join) -> str:
    return f"{join.table}.{','.join(join.columns)}"


def is_many_to_one(path: Iterable[Step]) -> bool:
    return all(step.is_forward for step in path)


@dataclass(slots=True)
class JoinGraph:
    """Joins by table, with the paths found so far."""

    steps: dict[str, list[Step]] = field(default_factory=dict)
    by_name: dict[str, Join] = field(default_factory=dict)
    found: dict[tuple[str, str, tuple[str, ...]], Path | None] = field(default_factory=dict)
    last_joins: dict[tuple[str, str], list[Join]] = field(default_factory=dict)

    @classmethod
    def build(cls, joins: Sequence[Join]) -> JoinGraph:
        graph = cls()
        for join in joins:
            graph.by_name[join_name(join)] = join
            graph.steps.setdefault(join.table, []).append(Step(join, True))
            graph.steps.setdefault(join.to, []).append(Step(join, False))
        return graph

    def path(self, start: str, end: str, via: tuple[str, ...] = ()) -> Path | None:
        """Return a shortest path, ending with the join that `via` names; None if the tables are not connected."""
        key = (start, end, via)
        if key not in self.found:
            self.found[key] = self.path_via(start, end, via) if via else next(iter(self.search(start, end)), None)
        return self.found[key]

    def belongs(self, start: str, end: str, via: tuple[str, ...] = ()) -> bool:
        """Whether each row of `start` belongs to one row of `end`, so that a join does not repeat it."""
        path = self.path(start, end, via)
        return path is not None and is_many_to_one(path)

    def is_below(self, start: str, end: str) -> bool:
        """Whether `start` is another table, whose rows belong to rows of `end`."""
        return start != end and self.belongs(start, end)

    def path_via(self, start: str, end: str, via: tuple[str, ...]) -> Path | None:
        """A join in `via` names the table's role, so it is the last one on the way from the row that holds the key."""
        join = self.by_name.get(via[-1])
        if join is None:
            return self.path(start, end)
        last = Step(join, join.to == end)
        head = self.path(start, last.source)
        return None if head is None else (*head, last)

    def search(self, start: str, end: str) -> list[Path]:
        """Return the shortest paths; of those of the same length, the ones that join the fewest rows which only share a
        parent, and then the ones with the fewest steps from one row to many."""
        found: list[Path] = [()] if start == end else []
        paths: list[Path] = [(step,) for step in self.steps.get(start, ())]
        while paths and not found and len(paths[0]) <= LONGEST:
            found = [path for path in paths if path[-1].target == end]
            paths = [longer for path in paths for longer in self.extend(path)]
        fewest = min(map(count_detours, found), default=(0, 0))
        return [path for path in found if count_detours(path) == fewest]

    def extend(self, path: Path) -> Iterator[Path]:
        """Yield the path with one more step, to tables that are not on it yet."""
        seen = {path[0].source, *(step.target for step in path)}
        steps = self.steps.get(path[-1].target, ())
        yield from ((*path, step) for step in steps if step.target not in seen)

    def parallel(self, start: str, end: str) -> list[Join]:
        """Return the last joins of the shortest paths, where there are several: an order's region is that of its
        customer or that of its employee."""
        if (start, end) not in self.last_joins:
            ends = dict.fromkeys(join_name(path[-1].join) for path in self.search(start, end) if path)
            self.last_joins[start, end] = [self.by_name[name] for name in ends]
        same = self.last_joins[start, end]
        return same if len(same) > 1 else []


def count_detours(path: Path) -> tuple[int, int]:
    """Return how often a path goes to a parent and on to its other rows, and its steps from one row to many."""
    siblings = sum(one.is_forward and not other.is_forward for one, other in pairwise(path))
    return siblings, sum(not step.is_forward for step in path)
