"""Transitions for names: tables, columns and measures fill the slot of the operator that waits for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from recollect.apps.ask.interpret.compose_values import number_features
from recollect.apps.ask.interpret.index import NO_COLUMN, ColumnInfo, Target
from recollect.apps.ask.interpret.link import GUESSED, Link, Linked
from recollect.apps.ask.interpret.operands import (
    DETERMINERS,
    is_coordinated,
    is_pending_figure,
    is_same_column,
    lead_word,
    name_features,
)
from recollect.apps.ask.interpret.rank import Feature
from recollect.apps.ask.interpret.state import Fact, FactKind, State

NAMED = 0.95  # score from which the model itself uses the name
ROWS = ":rows"  # a superlative of how often something occurs
OF_WORDS = DETERMINERS | {"of", "for", "on"}


@dataclass(frozen=True, slots=True)
class Name:
    """A name that is being read: the state before it, its link, and what changes however it is read."""

    state: State
    link: Link
    info: ColumnInfo
    is_measure: bool
    is_below: bool  # a figure of rows that belong to the rows named before
    features: list[Feature]
    changes: dict[str, Any]
    is_elsewhere: bool = False  # another table than the rows named beside it

    @property
    def rows(self) -> Target:
        """The rows of the table; what is counted needs no role."""
        return Target("entity", self.link.target.table)

    @property
    def is_expression(self) -> bool:
        """Whether it is a figure that no single column holds."""
        return self.link.kind == "measure"

    @property
    def place(self) -> list[Feature]:
        """What speaks against showing it where it stands."""
        return [("shown_in_where", 1.0)] if self.state.in_where else []

    @property
    def follows_rows(self) -> bool:
        """Whether rows were named some words before: "which orders have the highest amount" asks for the orders, "the
        highest order amount" does not."""
        return any(each.is_main_entity and each.at < self.link.start - 1 for each in self.state.facts)

    @property
    def opened(self) -> dict[str, Any]:
        return {"open": self.link.target, "open_at": self.link.start}

    @property
    def figure(self) -> str:
        """How a figure is aggregated where the question does not say: as somebody taught it, else as a sum."""
        return (self.link.target.aggregate if self.link.tier else "") or "sum"

    def fact(self, kind: FactKind, aggregate: str = "", **details: Any) -> Fact:
        return Fact(kind, self.link.start, details.pop("target", self.link.target), aggregate, **details)

    def top(self, aggregate: str = "", **details: Any) -> Fact:
        """Return the fact of a superlative that waited for this name."""
        is_descending = self.state.superlative.startswith(("desc", "last"))
        return self.fact("superlative", aggregate, is_descending=is_descending, number=self.state.limit, **details)

    def order(self, aggregate: str = "", **details: Any) -> Fact:
        return self.fact("order", aggregate, is_descending=self.state.order == "desc", **details)

    def move(self, fact: Fact | None, *features: Feature, **changes: Any) -> State:
        return self.state.move(self.link.end, *self.features, *features, fact=fact, **{**self.changes, **changes})


Reading = Callable[[Name], Iterator[State]]


def add_use(state: State, link: Link) -> tuple[tuple[int, int, Target], ...]:
    return (*state.used, (link.start, link.end, link.target))


def apply_entity(state: State, link: Link, linked: Linked) -> Iterator[State]:
    changes: dict[str, Any] = {"entity": link.target.table, "used": add_use(state, link), "junction": ""}
    if link.score <= GUESSED:
        changes["skipped"] = (*state.skipped, link.start)
    is_amount = any(token.lower == "much" for token in linked.tokens[: link.start])
    name = Name(state, link, NO_COLUMN, is_amount, False, name_features(link), changes)
    if state.groups and not linked.tokens[link.end - 1].is_plural and is_compound(link, linked):
        yield name.move(None, entity=state.entity)  # "by product category" is by category
    if state.counts:
        yield from count_entity(name)
        return
    for read in ENTITY_READINGS:
        yield from read(name)
    yield from mention_entity(name, lead_word(linked, link.start))


def is_compound(link: Link, linked: Linked) -> bool:
    """Whether a table is named right after it that its rows belong to."""
    is_apart = any(token.mark for token in linked.tokens[link.end : link.end + 1])
    return not is_apart and any(
        linked.index.joins.is_below(link.target.table, each) for each in linked.tables_at(link.end)
    )


def mention_entity(name: Name, lead: str) -> Iterator[State]:
    """The rows are named, and a number before them says how many are wanted."""
    state = name.state
    mention = name.fact("entity", in_where=state.in_where, lead=lead, junction=state.junction, role=state.role,
                        in_figure=bool(state.aggregates))  # fmt: skip
    if state.numbers and not state.compare and not state.superlative:
        limit = Fact("limit", name.link.start, number=state.limit)
        yield name.move(mention, facts=(*state.facts, limit), numbers=())
    # A negation that reaches past a noun rarely means what comes after it.
    past = ("operator_past_noun", float(bool(state.negates)))
    not_grouped = ("by_not_group", 3.0 if state.groups or is_coordinated(state) else 0.0)
    yield name.move(mention, past, not_grouped)


def count_entity(name: Name) -> Iterator[State]:
    """`number of X`: a figure, or what the rows are ordered or limited by."""
    state = name.state
    changes: dict[str, Any] = {"counts": False, "last_aggregates": ("count",)}
    if state.aggregates == ("avg",):
        # "the average number of orders" is a number of orders per something
        yield name.move(name.fact("metric", "per", target=name.rows), **changes, aggregates=())
        return
    if state.order:
        yield name.move(name.order("count", target=name.rows), **changes, order="")
        return
    if state.superlative:
        yield name.move(name.top("count", target=name.rows), **changes, superlative="", numbers=())
    yield name.move(name.fact("metric", "count", target=name.rows), **changes)


def compare_count(name: Name) -> Iterator[State]:
    """`more than 3 orders`."""
    state = name.state
    if state.compare and state.numbers:
        having = name.fact("having", "count", target=name.rows, op=state.compare, values=state.values,
                           is_negated=bool(state.negates))  # fmt: skip
        yield name.move(having, compare="", numbers=(), negates=0)


def rank_by_count(name: Name) -> Iterator[State]:
    """`the most orders`."""
    # "The best month for each region" counts no regions.
    if name.state.superlative.removesuffix(ROWS) in ("desc", "asc") and not name.state.groups:
        top = name.top("count", target=name.rows, in_where=name.state.in_where)
        has_ranked = any(fact.kind in ("show", "entity", "group", "grain") for fact in name.state.facts)
        yield name.move(top, ("ranked_nothing", float(not has_ranked)), superlative="", numbers=())


def group_by_entity(name: Name) -> Iterator[State]:
    if name.state.groups or is_coordinated(name.state):
        yield name.move(name.fact("group", role=name.state.role), groups=False)


def require_absence(name: Name) -> Iterator[State]:
    if name.state.negates:
        yield name.move(name.fact("exists", is_negated=True, role=name.state.role), negates=0)


def count_total(name: Name) -> Iterator[State]:
    """`total orders` is their number."""
    if name.state.aggregates == ("sum",) and not name.is_measure:
        yield name.move(name.fact("metric", "count", target=name.rows), ("counted_total", 1.0), aggregates=())
    if name.state.aggregates == ("avg",):
        yield name.move(name.fact("metric", "per", target=name.rows), ("counted_total", 1.0), aggregates=())


ENTITY_READINGS: tuple[Reading, ...] = (
    compare_count, rank_by_count, group_by_entity, require_absence, count_total,
)  # fmt: skip


def apply_column(state: State, link: Link, linked: Linked) -> Iterator[State]:
    features = [*name_features(link), *owner_features(state, link, linked), *figure_features(state, link)]
    changes = {"used": add_use(state, link), "junction": "", "waits": False}
    info, is_measure = linked.index.column_of(link.target), linked.index.is_measure(link.target)
    is_below = bool(state.entity) and is_figure_of(state.entity, link, linked)
    is_elsewhere = link.target.table not in linked.tables_at(link.end) | {state.entity}
    name = Name(state, link, info, is_measure, is_below, features, changes, is_elsewhere=is_elsewhere)
    found = [following for read in COLUMN_READINGS for following in read(name)]
    yield from found
    if not found or state.negates or state.superlative or is_coordinated(state):
        yield from read_plain(name)


def figure_features(state: State, link: Link) -> Iterator[Feature]:
    if link.kind == "measure" and (state.counts or link.score >= NAMED):
        yield "counted_figure" if state.counts else "named_figure", 1.0
    if state.waits:
        yield "open_unused", 1.0


def owner_features(state: State, link: Link, linked: Linked) -> list[Feature]:
    """A column belongs to the noun after "of", else to the noun before it."""
    if link.score >= 1 and link.end - link.start > 1:
        return []
    after = find_owners(link.end, linked)
    if any(is_figure_of(each, link, linked) for each in after):
        return []
    if after:
        return [("owner_matches" if link.target.table in after else "owner_differs", 1.0)]
    return rate_owner(state, link, linked)


def rate_owner(state: State, link: Link, linked: Linked) -> list[Feature]:
    """Return how well a column fits the noun before it."""
    if not state.entity or is_figure_of(state.entity, link, linked):
        return []
    if state.entity == link.target.table:
        return [("owner_matches", 0.6)]
    # "By region and channel": each is a group of its own.
    return [] if is_coordinated(state) and state.last.kind == "group" else [("owner_differs", 0.5)]


def is_figure_of(entity: str, link: Link, linked: Linked) -> bool:
    """Whether a measure is recorded in rows that belong to the entity: "products by revenue" adds them up. Revenue is,
    if any amount is."""
    index = linked.index
    amounts = index.figures if link.target in index.figures else (link.target,)
    return index.is_measure(link.target) and any(index.joins.is_below(each.table, entity) for each in amounts)


def find_owners(at: int, linked: Linked) -> set[str]:
    """Return the tables that "of" and the noun after it name."""
    start = at
    while at < len(linked.tokens) and linked.tokens[at].lower in OF_WORDS:
        at += 1
    return linked.tables_at(at) if at > start else set()


def count_column(name: Name) -> Iterator[State]:
    """Read "number of X": count the different values, add up a measure, or show a column with that name."""
    if not name.state.counts:
        return
    if name.info.yes:
        yield from require_flag(name)
        return
    if name.state.order:
        yield name.move(name.order(), counts=False, order="")
        return
    # "How many units" adds them up, "how many different prices" does not.
    is_distinct = any(fact.kind == "distinct" for fact in name.state.facts)
    doubt, strong = ("count_then_column", 1.0), ("count_then_column", 2.0)
    is_unlikely = (name.is_measure or name.info.role == "moment") and not is_distinct
    yield name.move(name.fact("metric", "count_distinct"), strong if is_unlikely else doubt, counts=False)
    if name.is_measure:
        yield name.move(name.fact("metric", "sum"), *([strong] if is_distinct else []), counts=False)
        yield name.move(name.fact("show"), doubt, counts=False)


def aggregate_column(name: Name) -> Iterator[State]:
    state = name.state
    is_repeated = state.junction == "and" and state.last_aggregates != ("count",)
    aggregates = state.aggregates or (state.last_aggregates if is_repeated else ())
    if not aggregates or state.counts:
        return
    if name.figure == "count":  # a number of rows is neither added up nor averaged
        aggregates = ("count",)
    extra = measure_features(name, aggregates)
    changes: dict[str, Any] = {"aggregates": (), "last_aggregates": aggregates}
    if len(aggregates) > 1:
        facts = tuple(name.fact("metric", each) for each in aggregates)
        yield name.move(None, *extra, **changes, facts=(*state.facts, *facts))
        return
    for fact, more in place_aggregate(name, aggregates[0]):
        yield name.move(fact, *extra, **changes, **more)


def place_aggregate(name: Name, aggregate: str) -> Iterator[tuple[Fact, dict[str, Any]]]:
    """Yield what an aggregated column is used for: to order, rank or compare, else as a figure."""
    state = name.state
    if state.order:
        yield name.order(aggregate), {"order": ""}
    elif state.superlative:
        yield name.top(aggregate), {"superlative": "", "groups": False, "numbers": ()}
    elif state.compare and state.numbers:
        yield name.fact("having", aggregate, op=state.compare, values=state.values), {"compare": "", "numbers": ()}
    else:
        if state.in_where and aggregate in ("max", "min"):
            top = name.fact("superlative", is_descending=aggregate == "max", number=state.limit)
            yield top, {"numbers": ()}
        yield name.fact("metric", aggregate), name.opened


def measure_features(name: Name, aggregates: tuple[str, ...]) -> list[Feature]:
    """Keys, texts and dates are rarely measured."""
    info, is_extreme = name.info, set(aggregates) <= {"min", "max"}
    if info.is_key:
        return [("key_as_measure", 1.0)]
    is_fine = info is NO_COLUMN or (is_extreme if info.role == "moment" else info.is_number)
    return [] if is_fine else [("text_as_measure", 0.4 if is_extreme else 1.0)]


def order_by_column(name: Name) -> Iterator[State]:
    if name.state.order and not is_pending_figure(name.state):
        # "Rank the categories by revenue": by all that they have.
        yield name.move(name.order(name.figure if name.is_below else ""), order="")


def rank_by_column(name: Name) -> Iterator[State]:
    """`the highest price`: rows ranked by the column, its maximum, or groups ranked by their sum or count."""
    state = name.state
    if not state.superlative or ":" in state.superlative.removesuffix(ROWS) or is_pending_figure(state):
        return
    extra = superlative_features(name)
    changes: dict[str, Any] = {"superlative": "", "groups": False, "numbers": ()}
    total = name.top(name.figure, in_where=state.in_where)
    if name.is_measure:
        yield name.move(total, *extra, **changes)
    if name.is_measure and state.last.kind == "grain":
        return  # "best month for sales": the months are ranked, not the single sales
    yield name.move(replace(total, aggregate=""), *extra, **changes)
    if not state.numbers and not state.in_where:
        extreme = name.fact("metric", "max" if total.is_descending else "min")
        yield name.move(extreme, *extra, ("superlative_as_aggregate", 4.0 * name.follows_rows), **changes)
    if name.info.role == "dimension":
        # "most common citizenship": the value that most rows have.
        yield name.move(name.top("count"), **changes)


def superlative_features(name: Name) -> list[Feature]:
    info = name.info
    if info.is_number and info.is_key:
        return [("key_as_measure", 1.0)]
    is_latest = info.role == "moment" and name.state.superlative in ("last", "first")
    is_ranked = info is NO_COLUMN or is_latest or info.role == "measure" or (info.is_number and info.role != "moment")
    return [] if is_ranked else [("superlative_of_text", 1.0)]


def compare_column(name: Name) -> Iterator[State]:
    """`more than 300 sales`: the number came first."""
    state = name.state
    if not state.compare or is_pending_figure(state):
        return
    condition = name.fact("filter", op=state.compare, values=state.values, is_text=False)
    if state.compare.endswith("average"):
        yield name.move(replace(condition, values=()), compare="")
    elif state.numbers:
        yield name.move(condition, *number_features(name.info, state.numbers), compare="", numbers=())
        if name.is_below:
            # "artists with more than 50 in sales": all of their sales together
            having = name.fact(
                "having", name.figure, op=state.compare, values=state.values, is_negated=bool(state.negates)
            )
            yield name.move(having, compare="", numbers=(), negates=0)


def group_by_column(name: Name) -> Iterator[State]:
    state = name.state
    if state.superlative or not (state.groups or is_coordinated(state)):
        return
    extra: list[Feature] = [("group_by_measure", 1.0)] if name.is_measure else []
    group = name.fact("group", role=state.role)
    yield name.move(group, *extra, groups=False, entity=name.link.target.table)


COLUMN_READINGS: tuple[Reading, ...] = (
    count_column, aggregate_column, order_by_column, rank_by_column, compare_column, group_by_column,
)  # fmt: skip


def read_plain(name: Name) -> Iterator[State]:
    """A column without operator: shown in the select part, waiting for its value in the where part."""
    state, link = name.state, name.link
    if any(fact.kind in ("metric", "superlative") and fact.target == link.target for fact in state.facts):
        yield state.move(link.end, **name.changes)
        return
    if state.superlative or is_pending_figure(state):
        name = replace(name, features=[*name.features, ("operator_past_noun", 1.0)])
    for read in PLAIN_READINGS:
        yield from read(name)


def sum_measure(name: Name) -> Iterator[State]:
    """A measure that is named loosely ("sales") is summed, or stands for the rows of its table."""
    state = name.state
    if not name.is_measure:
        return
    is_exact = name.link.score >= 1 and not name.is_expression
    # "Sale amount", "units sold" and "how many units did we sell" have one figure, not two.
    is_second = not state.junction and any(fact.kind == "metric" for fact in state.facts)
    aggregate, op = name.link.target.aggregate or "sum", "column" if is_exact else ""
    summed = name.fact("metric", aggregate, in_where=state.in_where, op=op)
    yield name.move(summed, *name.place, ("second_figure", float(is_second)), **name.opened)
    if state.entity and name.link.target.table != state.entity and not is_exact:
        yield require_rows(name)


def require_rows(name: Name) -> State:
    """`tracks that were never sold`: a verb that stands for rows of another table, and names no figure."""
    is_named = any(feature == "named_figure" for feature, _ in name.features)
    exists = name.fact("exists", target=name.rows, is_negated=bool(name.state.negates))
    return name.move(exists, ("named_figure", -1.0 if is_named else 0.0), negates=0)


def show_column(name: Name) -> Iterator[State]:
    state, extra = name.state, name.place
    if name.is_expression:
        return
    if name.info.role == "foreign" and name.info.type != "text":
        extra.append(("foreign_key_shown", 1.0))
    if name.is_measure and name.link.score < 1:
        extra.append(("measure_listed", 1.0))
    if name.info.yes:
        extra.append(("flag_shown", 1.0))
    show = name.fact("show", in_where=state.in_where, junction=state.junction, role=state.role)
    yield name.move(show, *extra, **name.opened)


def require_missing(name: Name) -> Iterator[State]:
    if name.state.negates and not name.is_expression and not name.info.yes:
        yield name.move(name.fact("filter", op="is null"), negates=0)


def require_flag(name: Name) -> Iterator[State]:
    """`active products`: a column of yes and no is a condition."""
    if name.info.yes:
        flag = name.fact("filter", op="=" if len(name.info.yes) == 1 else "in", values=name.info.yes,
                         is_text=name.info.type == "text", is_negated=bool(name.state.negates))  # fmt: skip
        yield name.move(flag, ("flag_elsewhere", float(name.is_elsewhere)), negates=0)


def repeat_condition(name: Name) -> Iterator[State]:
    """The column of a value that was given before."""
    filtered = [fact.target for fact in name.state.facts if fact.kind == "filter"]
    if any(is_same_column(name.link.target, each) for each in filtered):
        yield name.move(None, ("column_beside_value", 0.6))


def wait_for_value(name: Name) -> Iterator[State]:
    extra = [] if name.state.in_where else [("open_in_select", 1.0)]
    yield name.move(None, *extra, **name.opened, waits=True)


PLAIN_READINGS: tuple[Reading, ...] = (
    sum_measure, show_column, require_missing, require_flag, repeat_condition, wait_for_value,
)  # fmt: skip
