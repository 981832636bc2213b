"""The semantic model as YAML: what people write is read, checked against the source, and written back the same."""

from __future__ import annotations

import json
from typing import Any

import pytest

from recollect.apps.ask.semantic.catalog import Catalog, Column, ForeignKey, Table
from recollect.apps.ask.semantic.draft import draft_model
from recollect.apps.ask.semantic.model import Definition, Entity, Measure, Moment, SemanticModel, list_terms
from recollect.apps.ask.semantic.model_file import dump_model, read_model, write_model
from recollect.errors import InvalidInput
from recollect.values.term_file import read_ontology

CATALOG = Catalog(
    "sqlite",
    (
        Table(
            "customers",
            (
                Column("id", "integer", is_unique=True),
                Column("Name", "text"),
                Column("city", "text", values=("Paris", "上海"), is_complete=True, comment="where, they live"),
                Column("email", "text", is_sensitive=True),
                Column("active", "integer", low="0", high="1"),
            ),
            ("id",),
        ),
        Table(
            "orders",
            (
                Column("id", "integer"),
                Column("customer_id", "integer"),
                Column("placed_on", "date"),
                Column("price", "number"),
                Column("quantity", "integer"),
            ),
            ("id",),
            (ForeignKey(("customer_id",), "customers", ("id",)),),
        ),
    ),
)

WRITTEN = """
tables:
  CUSTOMERS:
    names: Customer, client
    key: ID
    label: name
    dimensions:
      city: town, city
    definitions:
      - {names: [vip, very important], condition: "id < 10", meaning: our first ten, confidence: 0.9}
  orders:
    names: [order]
    measures:
      - {expression: price * quantity, names: revenue}
    moments:
      placed_on: {names: placed, main: true}
"""


def sorted_parts(model: SemanticModel) -> dict[str, list[str]]:
    return {part: sorted(map(repr, getattr(model, part))) for part in SemanticModel.__slots__}


def broken(change: str, value: Any) -> dict[str, Any]:
    """The drafted model with the value put at a path such as `orders.measures.0.expression`."""
    data = json.loads(json.dumps(dump_model(draft_model(CATALOG))))
    inner = data["tables"]
    *path, last = change.split("/")
    for step in path:
        inner = inner[int(step)] if isinstance(inner, list) else inner.setdefault(step, {})
    inner[int(last) if isinstance(inner, list) else last] = value
    return dict(data)


def test_what_people_write_is_read_in_the_spelling_of_the_source() -> None:
    model = read_model(WRITTEN, CATALOG)
    assert model.entities[0] == Entity("customers", ("customer", "client"), ("id",), ("Name",))
    assert model.dimensions[0].names == ("town", "city")
    assert model.measures == (Measure("orders", "price * quantity", ("revenue",)),)
    assert model.moments == (Moment("orders", "placed_on", ("placed",), "date", True),)
    assert model.definitions == (
        Definition(("vip", "very important"), "customers", "id < 10", "ontology", 0.9, "our first ten"),
    )


def test_a_draft_comes_back_as_it_was_written() -> None:
    model = draft_model(CATALOG)
    for source in (write_model(model), json.dumps(dump_model(model)), dump_model(model)):
        assert sorted_parts(read_model(source, CATALOG)) == sorted_parts(model)


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("custumers", {"names": "x"}, "model.tables.custumers: there is no table 'custumers'; did you mean customers?"),
        ("orders/dimensions/prize", "x", "orders has no column 'prize'; did you mean price?"),
        ("orders/key", "nr", "model.tables.orders.key: orders has no column 'nr'"),
        ("orders/messures", [], "model.tables.orders.messures: is not known here; did you mean measures?"),
        ("orders/names", [], "model.tables.orders: Object missing required field `names`"),
        ("orders/names", {"a": 1}, "model.tables.orders.names: is not a text"),
        ("orders/measures", "total", "model.tables.orders.measures: is neither a mapping nor a list"),
        (
            "orders/measures/0/aggregate",
            "mode",
            "measures[0]: Invalid enum value 'mode' - at `$.aggregate`",
        ),
        ("orders/measures/0/expression", "city", "orders has no column 'city'"),
        ("orders/measures/0/expression", "sum(price)", "say the aggregate as `aggregate`"),
        ("orders/measures/0/expression", "(select 1)", "a subquery or statement cannot stand here"),
        ("orders/measures/0/expression", "price; drop table orders", "is not one expression"),
        ("orders/measures/0/expression", "price +* 2", "is not a condition or an expression"),
        ("orders/measures/0/expression", "customers.id", "is not a column of orders"),
        ("orders/definitions", [{"names": "big", "condition": "prize > 1"}], "did you mean price?"),
        ("orders/definitions", [{"names": "big"}], "definitions[0]: Object missing required field `condition`"),
        ("orders/joins/0/to", "nowhere", "model.tables.orders.joins.to: there is no table 'nowhere'"),
        ("orders/joins/0/to_columns", "a, b", "needs as many columns as to_columns"),
        ("orders/moments/placed_on/main", "yes", "model.tables.orders.moments.placed_on: Expected `bool`, got `str`"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_place(path: str, value: Any, says: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_model(broken(path, value), CATALOG)
    assert says in str(refused.value)


@pytest.mark.parametrize("text", ["tables: [", "- a", "{broken", "tabels: {}"])
def test_a_text_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="model"):
        read_model(text)


def test_the_sources_terms_can_be_imported_and_hold_nothing_sensitive() -> None:
    terms = {term.id: term for term in read_ontology(list_terms(draft_model(CATALOG), CATALOG, "shop"))}
    assert ("value", "customers.city=上海") in terms
    assert ("relationship", "orders.customer_id -> customers.id") in terms
    assert (terms["glossary", "sales"].sql, terms["glossary", "sales"].synonyms) == (
        "SUM(price * quantity)",
        ("revenue",),
    )
    assert not [name for kind, name in terms if kind == "value" and "email" in name]
