"""Context: one request's model, catalog and ways, and the questions that assembling asks of them: which measure means
"revenue" or "longest", which moment dates a table, how many seconds a column counts in. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import date

from recollect.sql.catalog import Catalog
from recollect.sql.draft_elapsed import is_elapsed
from recollect.sql.joins import Graph, Step, Way, is_safe, ways_through
from recollect.sql.known import Known, Target
from recollect.sql.lexer import doer_roots, key_of, root_of, stem_key
from recollect.sql.lexicon import Lexicon
from recollect.sql.naming import table_words
from recollect.sql.phrases import Unit, phrases
from recollect.sql.semantic import Entity, Measure, Moment, SemanticModel
from recollect.sql.vocabulary import vocabulary

CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
EVENTS = ("commerce", "rent", "stay", "visit", "flight", "score", "prescribe", "enroll", "donate", "subscribe", "treat",
          "complain", "repair", "ride", "review", "inspect")  # fmt: skip
ISO = re.compile(r"\d{4}-\d\d")


class Unclear(Exception):
    """The question cannot be read without asking back. Caught in reading.py; never leaves this room."""

    def __init__(self, term: str, question: str, suggestions: Iterable[str] = (), category: str = "unknown") -> None:
        super().__init__(question)
        self.term, self.question, self.category = term, question, category
        self.suggestions = tuple(dict.fromkeys(suggestions))[:6]


class Refused(Exception):
    """Understood, and not answered: the number would be wrong. Caught in reading.py."""


@dataclass(frozen=True, slots=True)
class Context:
    model: SemanticModel
    catalog: Catalog
    lexicon: Lexicon
    graph: Graph
    known: Known
    today: date
    mentioned: frozenset[str] = frozenset()  # tables that the question names
    words: frozenset[str] = frozenset()  # its words, as roots
    acts: frozenset[str] = frozenset()  # tables of what its verbs are about
    nouns: frozenset[str] = frozenset()  # tables through which a way is meant to go; otherwise those that are named
    near: frozenset[str] = frozenset()  # the one that stands beside what is looked for
    assumed: list[tuple[str, str, str, float]] = field(default_factory=list)
    used: set[str] = field(default_factory=set)  # words of the joins that were used

    def entity(self, table: str) -> Entity | None:
        return next((each for each in self.model.entities if each.table == table), None)

    def called(self, table: str) -> str:
        entity = self.entity(table)
        return entity.names[0] if entity else table

    def way(self, base: str, to: str, via: Iterable[str] = (), term: str = "") -> Way | None:
        """The way from one to the other; asks where two are as good and the question names neither."""
        ways = self.graph.ways(base, to, via)
        if not via and (led := self.led(base, to, ways)):
            ways = led
        elif len(ways) > 1:
            ways = self.preferred(ways)
        if len(ways) == 1 and not via and not is_plain(ways[0]):
            ways = (*ways, *self.plain_ways(ways[0], base, to))
        if len(ways) == 1 and not via and not is_safe(ways[0]):
            ways = self.by_what_was_done(ways[0], base, to)
        elif len(ways) == 1 and not via:
            ways = (*ways, *self.done_otherwise(ways[0], base, to))
        if len(ways) > 1:
            raise Unclear(
                term or self.called(to),
                f"“{term or self.called(to)}” can be reached in several ways. Which one?",
                map(self.told, ways),
                "entity",
            )
        return ways[0] if ways else None

    def beside(self, nouns: frozenset[str]) -> Context:
        """Seen from a noun: what is said of it is reached through it."""
        return replace(self, near=nouns) if nouns else self

    def led(self, base: str, to: str, ways: tuple[Way, ...]) -> tuple[Way, ...]:
        """Over the noun beside it, or else over what the question is about."""
        if self.near:
            return () if base in self.near else ways_through(self.graph, base, to, self.near, ways, may_multiply=True)
        return ways_through(self.graph, base, to, self.nouns or self.mentioned, ways) or self.parted(base, to, ways)

    def parted(self, base: str, to: str, ways: tuple[Way, ...]) -> tuple[Way, ...]:
        """Nothing decides between the student's department and the course's, which is one step further."""
        if len(ways) != 1 or len(ways[0]) < 2 or not is_safe(ways[0]) or not is_plain(ways[0]):
            return ()
        named = self.nouns or self.mentioned
        if {step.table for step in ways[0][:-1]} & (named | self.acts):
            return ()
        first = frozenset((ways[0][0].id, ways[0][0].table))
        far = len(ways[0]) + 1
        others = self.graph.shortest(base, to, frozenset(), only_safe=True, without=first, most=far)
        others = tuple(way for way in others if is_plain(way))
        return (*ways, *others) if others else ()

    def preferred(self, ways: tuple[Way, ...]) -> tuple[Way, ...]:
        if told := tuple(way for way in ways if self.is_role_said(way)):
            ways = told
        named = self.mentioned | self.acts
        scores = [sum(step.table in named for step in way[:-1]) for way in ways]
        best = tuple(way for way, score in zip(ways, scores, strict=True) if score == max(scores))
        plain = tuple(filter(is_plain, best)) if len({way[-1].origin for way in best}) == 1 else ()
        return tuple(way for way in best if self.is_named_after_both(way)) or plain or best

    def is_role_said(self, way: Way) -> bool:
        """ "Which clerk approved the most events": by the join that is called so."""
        words = [word for step in way for word in (*table_words(step.join.to), *table_words(step.join.table), "by")]
        own = set(map(root_of, words))  # a review has a reviewer, but does not say so
        return bool((role_roots(way) - own) & self.words)

    def by_what_was_done(self, way: Way, base: str, to: str) -> tuple[Way, ...]:
        """Customers and products meet in orders and in reviews: who "bought" is meant by orders, though reviews are
        nearer. If neither is named and nothing is done, both may be meant."""
        between = {step.table for step in way[:-1]}
        if (
            not between
            or self.is_named_after_both(way)
            or between & (self.mentioned | self.acts)
            or between <= self.graph.bridges
        ):
            return (way,)
        others = self.graph.shortest(
            base, to, frozenset(), only_safe=False, without=frozenset(between), most=len(way) + 1
        )
        told = tuple(each for each in others if {step.table for step in each[:-1]} & (self.mentioned | self.acts))
        return told or (way, *others)

    def done_otherwise(self, way: Way, base: str, to: str) -> tuple[Way, ...]:
        """Students "taught" by professors: through the courses, though each has an adviser whom nobody named."""
        roles = [step for step in way if step.join.names]
        on_way = {base, *(step.table for step in way)}
        if not roles or role_roots(roles) & self.words or not self.acts or self.acts & on_way:
            return ()
        others = self.graph.shortest(base, to, frozenset(), only_safe=False, without=frozenset(s.id for s in roles))
        return tuple(other for other in others if {step.table for step in other} & self.acts)

    def plain_ways(self, way: Way, base: str, to: str) -> tuple[Way, ...]:
        """Who leads a project and who works on it: where rows are multiplied, and nobody says "lead", both may be
        meant."""
        roles = [step for step in way if step.join.names and not step.is_safe]
        if not roles or self.is_role_said(tuple(roles)):
            return ()
        others = self.graph.shortest(base, to, frozenset(), only_safe=False, without=frozenset(s.id for s in roles))
        return tuple(other for other in others if is_plain(other) and len(other) <= len(way) + 1)

    def is_named_after_both(self, way: Way) -> bool:
        """A table that is called "department employee" joins departments and employees, whatever else joins them."""
        ends = {*self.called(way[0].origin).split(), *self.called(way[-1].table).split()}
        return len(way) == 2 and set(table_words(way[0].table)) == ends

    def told(self, way: Way) -> str:
        named = [step.join.names[0] for step in way if step.is_forward and step.join.names]
        return named[-1] if named else " of the ".join(self.called(step.table) for step in reversed(way))

    def cost(self, base: str, to: str, via: Iterable[str] = ()) -> tuple[int, int] | None:
        """Whether rows would be multiplied, then how far it is; None if there is no way."""
        ways = self.graph.ways(base, to, via)
        return (0 if is_safe(ways[0]) else 1, len(ways[0])) if ways else None

    def measures(self, concept: str, tables: Iterable[str] | None = None) -> list[Target]:
        """The measures that a concept means, the best named ones only."""
        nouns = phrases().concepts.get(concept, ())
        kept = [m for m in self.model.measures if not is_elapsed(m.expression)]
        ranked = [(rank, m) for m in kept if (rank := rank_of(m, nouns)) is not None]
        wanted = set(tables) if tables is not None else None
        ranked = [(rank, m) for rank, m in ranked if wanted is None or m.table in wanted]
        first = [(rank, m) for rank, m in ranked if stem_key(m.names[0]) in nouns or is_revenue(concept, m)]
        ranked = first or ranked
        best: dict[str, tuple[int, Measure]] = {}
        for rank, m in ranked:
            if m.table not in best or rank < best[m.table][0]:
                best[m.table] = (rank, m)
        return [target_of(m) for _, m in sorted(best.values(), key=lambda pair: pair[0])]

    def pay(self, tables: Iterable[str] | None = None) -> list[Target]:
        """Who "earns" the most has the highest salary: what the verb means of people, if the question has it."""
        return self.measures("salary", tables) if root_of("earn") in self.words else []

    def own_measures(self, table: str, aggregate: str | None = None) -> list[Measure]:
        """Those that are kept; not what two dates make."""
        own = [m for m in self.model.measures if m.table == table and not is_elapsed(m.expression)]
        return [m for m in own if aggregate is None or m.aggregate == aggregate]

    def money(self, table: str) -> list[Target]:
        """What an entity that is money itself ("sales", "payments") amounts to."""
        entity = self.entity(table)
        nouns = phrases().concepts["money"]
        return self.measures("money", {table}) if entity and any(stem_key(n) in nouns for n in entity.names[:2]) else []

    def amounts(self, table: str) -> list[Target]:
        """What "total refunds" adds up: a refund is an amount, and there is one here."""
        entity, nouns = self.entity(table), phrases().concepts["amounts"]
        is_amount = entity is not None and any(stem_key(name)[-1:] in nouns for name in entity.names[:2])
        return self.measures("money", {table}) if is_amount else self.money(table)

    def moments(self, table: str) -> list[Moment]:
        return [each for each in self.model.moments if each.table == table]

    def main_moment(self, table: str) -> Moment | None:
        own = self.moments(table)
        return next((each for each in own if each.is_main), own[0] if len(own) == 1 and not is_upkeep(own[0]) else None)

    def events(self, verb: str) -> frozenset[str]:
        """Tables of the entities that a verb is about."""
        nouns = phrases().events.get(verb, ())
        kinds = [key for key in (("sale",), ("purchase",)) if key in nouns]  # a ticket sale is a sale
        return frozenset(
            e.table
            for e in self.model.entities
            if any(stem_key(name) in nouns for name in e.names) or stem_key(e.names[0])[-1:] in kinds
        )

    def moment_of(self, verb: str, tables: Iterable[str]) -> Moment | None:
        nouns, wanted = phrases().events.get(verb, ()), frozenset(tables)
        return next(
            (m for m in self.model.moments if m.table in wanted and any(stem_key(n) in nouns for n in m.names)),
            None,
        )

    def unit_of(self, target: Target) -> Unit | None:
        """What the column counts in, if its name or comment says so."""
        if is_elapsed(target.expression):
            return phrases().units[("days",)]
        table = self.catalog.table(target.table)
        column = table.column(target.expression.strip('"') or target.column) if table else None
        said = f"{target.expression} {target.column} {column.comment if column else ''}"
        words = [word.lower() for word in CAMEL.findall(said)]
        return next((unit for word in words if (unit := phrases().units.get((word,)))), None)

    def is_dated(self, table: str, column: str) -> bool:
        """Whether the column holds dates as ISO texts or as dates, not seconds since 1970."""
        found = self.catalog.table(table)
        at = found.column(column) if found else None
        return at is None or at.low is None or ISO.match(at.low) is not None

    def assume(self, term: str, meaning: str, source: str, confidence: float) -> None:
        if (term, meaning, source, confidence) not in self.assumed:
            self.assumed.append((term, meaning, source, confidence))


def role_roots(steps: Iterable[Step]) -> set[str]:
    """What the one is to the other, and what he does as such: an "advisor" advises."""
    said = (word for step in steps for name in step.join.names for word in name.split())
    return {root for word in said for root in doer_roots(word)}


def is_plain(way: Way) -> bool:
    """No join on it says what the one is to the other."""
    return not any(step.join.names for step in way)


def is_upkeep(moment: Moment) -> bool:
    """When a row was touched last says nothing about what it is about; nor does a birthday about the year 2020."""
    return bool(set(moment.names[0].split()) & set(vocabulary().words("moments", "never")))


def is_revenue(concept: str, measure: Measure) -> bool:
    """Whatever its column is called."""
    return concept == "money" and "revenue" in measure.names


def rank_of(measure: Measure, nouns: tuple[tuple[str, ...], ...]) -> int | None:
    """How early the concept's list has one of its names; a name that only ends so comes behind all."""
    keys = [stem_key(name) for name in measure.names]
    exact = [nouns.index(key) for key in keys if key in nouns]
    ending = [len(nouns) + nouns.index(key[-1:]) for key in keys if len(key) > 1 and key[-1:] in nouns]
    return min([*exact, *ending], default=None)


def target_of(measure: Measure) -> Target:
    return Target("measure", measure.table, "", "", measure.expression, measure.aggregate, measure.names[0])


def words_of_way(way: Way) -> set[str]:
    """Stems of what the joins and their columns are called, without what the tables themselves are about."""
    said = [name for step in way for name in (*step.join.names, *step.join.columns)]
    own = {root_of(word) for step in way for word in table_words(step.join.to)}
    return {root for text in said for piece in CAMEL.findall(text) or [text] for root in doer_roots(piece)} - own


__all__ = ["Context", "Refused", "Unclear", "key_of", "target_of", "words_of_way"]
