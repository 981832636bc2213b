"""Every entry of the rulebooks does what its examples say, and nothing in its `not`."""

from __future__ import annotations

import pytest

from recollect.learning.extract import extract
from recollect.learning.gates import find_text_reason, gate_clauses
from recollect.learning.rulebook import Gate, Order, Rule, Rulebook
from recollect.learning.rules import rulebooks

BOOKS = rulebooks()
RULES = [pytest.param(book, rule, id=f"{book.language}-{rule.name}") for book in BOOKS for rule in book.rules]
GATES = [pytest.param(book, gate, id=f"{book.language}-{gate.reason}") for book in BOOKS for gate in book.gates]
ORDERS = [pytest.param(order, id=f"{book.language}-{order.verb}") for book in BOOKS for order in book.orders]


@pytest.mark.parametrize(("book", "rule"), RULES)
def test_a_rule_finds_its_examples(book: Rulebook, rule: Rule) -> None:
    assert rule.examples
    for text, value, *key in rule.examples:
        facts = [fact for fact in extract(text, "user", BOOKS).facts if fact.rule == rule.name]
        assert value in [fact.value for fact in facts], text
        assert all(text[slice(*fact.span)] == fact.value for fact in facts)
        assert not key or key == [fact.key for fact in facts if fact.value == value], text


@pytest.mark.parametrize(("book", "rule"), RULES)
def test_a_rule_leaves_the_rest_alone(book: Rulebook, rule: Rule) -> None:
    assert rule.never
    for text in rule.never:
        assert [fact for fact in extract(text, "user", BOOKS).facts if fact.rule == rule.name] == [], text


@pytest.mark.parametrize(("book", "gate"), GATES)
def test_a_gate_closes_on_its_examples_only(book: Rulebook, gate: Gate) -> None:
    assert gate.examples
    assert gate.never
    for text in gate.examples:
        assert gate.reason in reasons(text, book), text
    for text in gate.never:
        assert gate.reason not in reasons(text, book), text


@pytest.mark.parametrize("order", ORDERS)
def test_an_order_is_understood(order: Order) -> None:
    assert order.examples
    for text, told in order.examples:
        commands = extract(text, "user", BOOKS).commands
        assert [(command.verb, command.text) for command in commands] == [(order.verb, told)], text
    for text in order.never:
        assert order.verb not in [command.verb for command in extract(text, "user", BOOKS).commands], text


def reasons(text: str, book: Rulebook) -> set[str | None]:
    return {find_text_reason(text, book), *(reason for clause in gate_clauses(text, book) for reason in clause.reasons)}
