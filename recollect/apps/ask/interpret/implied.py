"""Figures that a question implies: "our biggest clients", "how much did we make", "which category grows fastest".

`imply_figures` completes a reading whose operators wait for a figure that nobody named: with an amount of money, or
with the number of rows of the table below. Each of them is a reading of its own; finish.py goes on as if it had been
named.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from recollect.apps.ask.interpret.index import SchemaIndex, Target
from recollect.apps.ask.interpret.render import reaches_all
from recollect.apps.ask.interpret.state import Fact, State
from recollect.apps.ask.interpret.work import Work
from recollect.apps.ask.words import stem_word

MOST, MOST_PEOPLE = 3, 2  # figures and people that are tried
OWN = 0.5  # rating of an amount that a row is ranked by: a total, not a list price
SELLING = frozenset(map(stem_word, ("sell", "sold")))
CLEAR = 0.8  # rating from which an amount is what people call revenue
LEAST = 0.2  # rating of an amount that may be implied at all
TOTALS = (("sum",), ("avg",))
RANKED = frozenset(("desc", "asc", "desc:rows", "asc:rows", "desc:money", "asc:money"))


@dataclass(frozen=True, slots=True)
class Implied:
    """A reading with the figure that was implied; `cost` is how far-fetched it is."""

    state: State
    guess: str = ""
    cost: float = 0.0


def imply_figures(work: Work) -> Iterator[Implied]:
    """Yield the reading itself, or one for each figure that it may mean."""
    state, kind = work.state, find_need(work)
    options = list(list_options(work, kind))[:MOST] if kind else []
    if not options:
        yield Implied(state)
    for n, (target, aggregate) in enumerate(options):
        # A row that is worth something is ranked by that; what occurs most often is counted; revenue is revenue.
        is_own = aggregate in ("", "count") and (len(options) == 1 or not aggregate)
        is_plain = not n and (is_own or is_revenue(work, kind, target))
        yield Implied(add_figure(state, kind, target, aggregate), cost=(0.2 if is_plain else 1.0) + 0.5 * n)


def is_revenue(work: Work, kind: str, target: Target) -> bool:
    """Whether a figure is asked for, and is what people call revenue: "for 2023" asks nothing, and "the fewest orders"
    are counted."""
    is_asked = kind == "rank" or bool(work.state.aggregates or work.facts("compare", "compute"))
    is_counted = bool(work.facts("show") or (work.facts("grain") and work.facts("entity")))
    return is_asked and not is_counted and work.index.figures.get(target, 0.0) >= CLEAR


def imply_people(work: Work) -> Iterator[Implied]:
    """Yield the reading of "who" with the people that the rows belong to: those who have not paid are customers."""
    state, table = work.state, find_first_table(work)
    is_named = not work.tables("entity").isdisjoint(work.index.people)
    is_sale = any(token.stem in SELLING for token in work.linked.tokens)
    near = list_people(table, work.index, is_sale) if table and work.linked.asks_who and not is_named else []
    if not near or table in work.index.people:
        yield Implied(state)
    for n, person in enumerate(near[:MOST_PEOPLE]):
        named = Fact("entity", -1, Target("entity", person))
        guess = "" if len(near) == 1 or is_sale else person
        yield Implied(replace(state, facts=(named, *state.facts)), guess, n * (4.0 if is_sale else 1.0))


def find_first_table(work: Work) -> str:
    tables = [fact.target.table for fact in work.state.facts if fact.target.table]
    tables += [fact.fragment.subject for fact in work.facts("define") if fact.fragment]
    return tables[0] if tables else ""


def list_people(table: str, index: SchemaIndex, is_sale: bool) -> list[str]:
    """Return the people that rows belong to: who sells is staff, otherwise the nearest are meant."""
    staff = {each.table for each in index.by_concept.get("person", {}) if each.kind == "entity"}
    people = [each for each in index.people if index.joins.is_below(table, each)]
    return sorted(people, key=lambda each: ((each in staff) != is_sale, len(index.joins.path(table, each) or ())))


def find_need(work: Work) -> str:
    """Return what waits for a figure: a superlative ranks by one, anything else needs a total."""
    state = work.state
    if work.facts("metric", "superlative", "having") or state.counts:
        return ""
    if state.superlative in RANKED:
        return "rank"
    is_undetermined = not work.subject and bool(work.facts("grain", "period"))
    is_compared = bool(work.facts("compare")) and not work.facts("show", "entity", "group")
    return "total" if state.aggregates in TOTALS or is_undetermined or is_compared or computes_figure(work) else ""


def computes_figure(work: Work) -> bool:
    """Whether growth or a share is asked for, and no rows are named that could be counted."""
    computed = {fact.text for fact in work.facts("compute")}
    named = {fact.target.table for fact in work.named_entities}
    grouped = {fact.target.table for fact in work.facts("group") if not fact.target.column}
    if "share" in computed:
        return bool(grouped) and named <= grouped
    return bool(computed & {"fastest", "slowest"}) or (
        bool(computed & {"growth", "running"}) and not (grouped and named - grouped)
    )


def list_options(work: Work, kind: str) -> Iterator[tuple[Target, str]]:
    """Yield the figures that fit, each with its aggregate; without one, single rows are ranked by it."""
    concept = work.state.superlative.partition(":")[2]
    aggregate = (work.state.aggregates or ("sum",))[0] if kind == "total" else "sum"
    is_row = kind == "rank" and not work.facts("show", "group", "grain")
    named = {fact.target.table for fact in work.named_entities}
    figures = list_figures(work, named | work.tables("group")) if concept != "rows" else []
    yield from ((each, "" if is_row and each.table == work.subject else aggregate) for each in figures)
    if kind == "rank":
        yield from ((Target("entity", table), "count") for table in list_counted(work, concept))


def list_counted(work: Work, concept: str) -> list[str]:
    """Return the tables whose rows may be counted to rank others, where no amount of money ranks them."""
    if not work.subject:  # "the busiest weekday"
        sold = [each.table for each in work.index.figures if work.index.tables[each.table].main_moment]
        return sold[:1] if concept == "rows" and work.facts("grain") else []
    is_counted = concept == "rows" or not (work.index.figures or work.tables("entity") - {work.subject})
    if not is_counted:
        return []
    return [work.subject] if work.facts("show") else list_children(work.subject, work.index)


def list_figures(work: Work, parts: set[str]) -> list[Target]:
    """Return the amounts that can be split by all tables in the question, the subject's own first."""
    index, subject = work.index, work.subject
    own = [each for each, rating in index.figures.items() if each.table == subject and rating >= OWN]
    others = [each for each, rating in index.figures.items() if rating >= LEAST and each.table != subject]
    able = [each for each in others if reaches_all(each.table, parts, index)]
    return [*own[:1], *(able if subject else filter(lambda each: index.tables[each.table].main_moment, able))]


def list_children(table: str, index: SchemaIndex) -> list[str]:
    """Return the tables whose rows belong to the table directly, dated ones first."""
    below = dict.fromkeys(join.table for join in index.model.joins if join.to == table != join.table)
    return sorted(below, key=lambda each: not index.tables[each].main_moment)


def add_figure(state: State, kind: str, target: Target, aggregate: str) -> State:
    """Return the state as if the figure had been named where it was waited for."""
    if kind != "rank":
        metric = Fact("metric", len(state.facts), target, aggregate)
        return replace(state, facts=(*state.facts, metric), aggregates=())
    top = Fact("superlative", len(state.facts), target, aggregate, is_descending=state.superlative[0] == "d",
               number=state.limit)  # fmt: skip
    return replace(state, facts=(*state.facts, top), superlative="", numbers=())
