"""The ontology, pure: files in, terms out, and back; what is refused, and where the error points."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from recollect.errors import InvalidInput
from recollect.recall.question import MOST_TERMS, terms_in
from recollect.values.term import MAX_TERMS, ImportReport, Term, check_term, compare_terms, list_lookup_stems
from recollect.values.term_file import MAX_CHARS, PARTS, dump_ontology, read_ontology, read_yaml, write_yaml

SAMPLE = Path(__file__).parents[2] / "docs" / "samples" / "ontology.yaml"
SHOP = """
tables:
  orders:
    description: One row per order.
    synonyms: [purchases]
    columns:
      status: {type: text, values: {paid: Money has arrived., NO: ~, 1: first}}
      placed_on: {semantic_type: date, since: 2024-01-31}
relationships:
  - {from: orders.customer_id, to: customers.id, cardinality: many to one}
  - {name: placed by, from: orders.customer_id, to: customers.id}
glossary:
  active customer:
    definition: ordered within 90 days
    defining_sql: last_order > now() - interval '90 days'
    aliases: regular
  大客户: 年消费超过一万元的客户
"""


def by_name(terms: list[Term]) -> dict[str, Term]:
    return {term.name: term for term in terms}


def test_a_file_is_read_into_terms_of_every_kind() -> None:
    terms = by_name(read_ontology(SHOP))

    assert {name: term.kind for name, term in terms.items()} == {
        "orders": "table",
        "orders.status": "column",
        "orders.status=paid": "value",
        "orders.status=NO": "value",
        "orders.status=1": "value",
        "orders.placed_on": "column",
        "orders.customer_id -> customers.id": "relationship",
        "placed by": "relationship",
        "active customer": "glossary",
        "大客户": "glossary",
    }
    assert terms["orders"].synonyms == ("purchases",)
    assert terms["orders.status=paid"].meaning == "the value paid of orders.status: Money has arrived."
    assert terms["orders.placed_on"].data == {
        "table": "orders",
        "column": "placed_on",
        "semantic_type": "date",
        "since": "2024-01-31",
    }
    assert terms["active customer"].sql == "last_order > now() - interval '90 days'"
    assert terms["active customer"].synonyms == ("regular",)
    assert terms["大客户"].description == "年消费超过一万元的客户"


def test_lists_of_objects_with_a_name_say_the_same_as_mappings() -> None:
    listed = {
        "tables": [{"table": "orders", "description": "d", "columns": ["id", {"name": "total", "values": [1, True]}]}],
        "glossary": [{"term": "active customer", "definition": "x"}, {"name": "churn", "sql": "y"}],
    }
    mapped = {
        "tables": {"orders": {"description": "d", "columns": {"id": {}, "total": {"values": {"1": None, "true": {}}}}}},
        "glossary": {"active customer": {"meaning": "x"}, "churn": {"defining_sql": "y"}},
    }
    assert read_ontology(listed) == read_ontology(json.dumps(mapped)) == read_ontology(write_yaml(mapped))


def test_the_sample_in_the_documentation_is_read_and_written_back_as_it_is() -> None:
    terms = read_ontology(SAMPLE.read_text(encoding="utf-8"))
    assert {term.kind for term in terms} == {"table", "column", "value", "relationship", "glossary"}
    assert by_name(read_ontology(write_yaml(dump_ontology(terms)))) == by_name(terms)


BOMB = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("", "ontology: must be a mapping, got nothing"),
        ("ontology.yaml", "ontology: must be a mapping, got a string; give the content of a file"),
        ("{}", "ontology: names nothing"),
        ("tables: {}", "ontology: names nothing"),
        ("[1, 2]", "ontology: must be a mapping, got a list"),
        ("tabels: {a: b}", "ontology.tabels: is not one of tables, relationships, glossary"),
        ("tables: 5", "ontology.tables: must be a mapping or a list, got a number"),
        (
            "tables: {orders: {columns: text}}",
            "ontology.tables.orders.columns: must be a mapping or a list, got a string",
        ),
        ("tables: [{description: d}]", "ontology.tables[0]: has no name"),
        ("tables: {orders: {columns: [{type: int}]}}", "ontology.tables.orders.columns[0]: has no name"),
        ("tables: {a: {name: b}}", "ontology.tables.a.name: is called 'a' above"),
        ("tables: {a: {sinonyms: [b]}}", "ontology.tables.a.sinonyms: did you mean synonyms?"),
        ("tables: {a: {description: [b]}}", "ontology.tables.a.description: must be a string, got a list"),
        ("tables: {a: {synonyms: [[b]]}}", "ontology.tables.a.synonyms[0]: must be a string, got a list"),
        ("tables: {a: {synonyms: ['']}}", "ontology.tables.a.synonyms[0]: is empty"),
        ('tables: {a: "x\\0y"}', "ontology.tables.a.description: contains a NUL character"),
        ('tables: {a: {note: ["x\\0y"]}}', "ontology.tables.a.data: contains a NUL character"),
        ("glossary: {churn: {}}", "ontology.glossary.churn: says nothing about 'churn'"),
        ("glossary: {churn: {definition: x, meaning: y}}", "churn.meaning: says the same as definition; give one"),
        ("relationships: [{from: a.b}]", "ontology.relationships[0].to: say which column, as table.column"),
        ("tables: {a: x}\ntables: {b: x}", "ontology: 'tables' is given twice (line 2)"),
        ("tables:\n  a:\n    type: b\n    type: c", "ontology.tables.a: 'type' is given twice (line 4)"),
        ('{"tables": {"a": {}, "a": {}}}', "ontology: the key 'a' is given twice in one object"),
        ("tables: [a, a]", "ontology: the table 'a' is given twice"),
        (f"tables: {{{'x' * 501}: y}}", "501 characters; at most 500"),
        (BOMB, "the alias *a is not read here; write it out (line 2)"),
        ("a: &a\n  b: *a", "ontology.a.b: the alias *a is not read here"),
        ("tables: !!python/object/apply:os.system [ls]", "ontology.tables: the tag"),
        ("tables: {? [a] : b}", "a mapping or list cannot be a key"),
        ("a: b\n---\nc: d", "a second document begins; give one (line 2)"),
        ("tables: {a: [" + "[" * 30, "nested more than 20 levels deep (line 1)"),
        ("tables: {a: 'b", "ontology: is not YAML: "),
        ("a: b: c", "ontology: is not YAML: mapping values are not allowed in this context (line 1)"),
        ('{"tables": ', "ontology: begins like JSON but is not: "),
        ('{"tables": {"a": {"x": NaN}}}', "NaN is not a number that JSON has"),
        ("[" * 100_000, "ontology: begins like JSON but is not"),
        ({"tables": {"a": {"x": object()}}}, "ontology: cannot be written as JSON"),
        ({"tables": {"a": {"x": [[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]}}}, "nested more than 20 levels deep"),
        (b"tables: {a: b}", "ontology: a bytes is neither text nor a mapping"),
        ("#" * (MAX_CHARS + 1), "ontology: 5,000,001 characters; at most 5,000,000"),
        ({"tables": [f"t{n}" for n in range(MAX_TERMS + 1)]}, "ontology: 20,001 terms; at most 20,000"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_cannot_be_used_is_refused_with_its_place(source: Any, problem: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_ontology(source)
    assert problem in str(refused.value)
    assert len(str(refused.value)) < 1_000


@pytest.mark.parametrize(
    ("term", "problem"),
    [
        (Term("total", "column"), "term.name: 'total' does not say where; name a column as table.column"),
        (Term("a.b", "value"), "term.name: 'a.b' does not say where; name a value as table.column=value"),
        (Term("likes", "relationship"), "term.name: 'likes' does not say where"),
        (Term("x", "view"), "term.kind: 'view' is not one of table, column, value, relationship, glossary"),  # type: ignore[arg-type]
        (Term("x", "table", synonyms="abc"), "term.synonyms: must be a list of strings, got str"),
        (Term("x", "table", data={"columns": {}}), "term.data.columns: is not data"),
        (Term("x", "table", data={"a": float("nan")}), "term.data: cannot be written as JSON"),
        (Term("x", "table", data={"a": "b" * 20_000}), "characters of JSON; at most 20,000"),
        (Term("x", "table", description="\ud800"), "term.description: is not valid Unicode"),
        ("orders", "term: must be a Term, got str"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_term_that_cannot_be_kept_is_refused(term: Any, problem: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        check_term("term", term)
    assert problem in str(refused.value)


def test_a_term_says_where_it_stands_by_its_name_or_by_its_data() -> None:
    assert check_term("t", Term("sales.orders.total", "column")).data == {"table": "sales.orders", "column": "total"}
    dotted = Term("orders.address.city", "column", data={"table": "orders", "column": "address.city"})
    assert check_term("t", dotted) == dotted


def test_what_a_term_is_found_by() -> None:
    terms = by_name(read_ontology(SHOP)) | {"s": check_term("t", Term("sales.order_items", "table", synonyms=["%"]))}

    assert list_lookup_stems(terms["orders"]) == ("order", "purchas")
    assert list_lookup_stems(terms["orders.placed_on"]) == ("order place on", "place on")
    assert list_lookup_stems(terms["orders.status=paid"]) == ("order status paid", "paid")
    assert list_lookup_stems(terms["orders.customer_id -> customers.id"]) == ()
    assert list_lookup_stems(terms["placed by"]) == ("place by",)
    assert list_lookup_stems(terms["s"]) == ("sale order item", "order item", "%")


texts = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), min_size=1, max_size=12).filter(
    str.strip
)
names = texts.map(str.strip)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**15), 10**15) | st.floats(-1e9, 1e9) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
odd_words = st.sampled_from(
    ["NO", "1e5", "0o17", "1_000", "~", "null", "2024-01-01", "12:30", "<<", "=", "- a", "a: b"]
)


@given(st.dictionaries(texts | odd_words, values | odd_words, max_size=5))
def test_what_is_written_as_yaml_is_read_back_as_it_was(value: dict[str, Any]) -> None:
    assert read_yaml("x", write_yaml(value)) == value


extras = st.dictionaries(st.sampled_from(["type", "semantic_type", "unit", "owner", "例"]), values, max_size=3)
bodies = st.fixed_dictionaries(
    {}, optional={"description": texts, "synonyms": st.lists(names, max_size=3), "sql": names}
)
described = st.builds(lambda body, extra: extra | body, bodies, extras)
columns = st.dictionaries(
    names,
    st.builds(lambda body, inner: body | {"values": inner}, described, st.dictionaries(names, described, max_size=2)),
    max_size=3,
)
ontologies = st.fixed_dictionaries(
    {
        "tables": st.dictionaries(
            names,
            st.builds(lambda body, inner: body | {"columns": inner}, described, columns),
            min_size=1,
            max_size=3,
        ),
        "relationships": st.lists(
            st.builds(lambda body, start, end: body | {"from": start, "to": end}, described, names, names),
            max_size=3,
            unique_by=lambda body: (body["from"], body["to"]),
        ),
        "glossary": st.dictionaries(
            names, st.builds(lambda body, said: body | {"description": said}, described, texts), max_size=3
        ),
    }
)


@given(ontologies)
def test_what_is_exported_is_imported_as_it_was(source: dict[str, Any]) -> None:
    try:
        terms = read_ontology(source)
    except InvalidInput as refused:
        # The column "b.c" of "a" and the column "c" of "a.b" have one name.
        assume("is given twice" not in str(refused))
        raise
    shape = dump_ontology(terms)

    assert set(shape) <= set(PARTS)
    again = read_ontology(write_yaml(shape))
    assert {term.id: term for term in again} == {term.id: term for term in terms}
    assert compare_terms(terms, again, replace_all=True).report == ImportReport(unchanged=len(terms))


def test_comparing_counts_what_is_new_other_gone_and_the_same() -> None:
    known = [Term("a", "table"), Term("b", "table"), Term("a", description="a word")]
    wanted = [Term("a", "table"), Term("b", "table", description="new"), Term("c", "table")]

    kept = compare_terms(known, wanted, replace_all=False)
    assert (kept.report, kept.drop) == (ImportReport(added=1, changed=1, unchanged=1), [])
    replaced = compare_terms(known, wanted, replace_all=True)
    assert (replaced.report.removed, replaced.drop) == (1, [Term("a", description="a word")])
    with pytest.raises(InvalidInput, match="more than 20,000 terms"):
        compare_terms([Term(f"t{n}", "table") for n in range(MAX_TERMS)], wanted, replace_all=False)


def test_what_a_question_may_use_as_a_term_is_found_in_english_and_chinese() -> None:
    found = terms_in("How many of the Active Customers are out of stock?")
    assert {"mani", "activ", "custom", "activ custom", "stock", "out of stock"} <= set(found)
    assert not {"how", "of", "are", "out of"} & set(found)

    chinese = terms_in("上个月VIP客户的订单数是多少？")
    assert {"客户", "订单", "订单数", "vip 客户", "vip"} <= set(chinese)
    assert terms_in("") == terms_in("的?")[1:] == []
    assert len(terms_in(" ".join(f"word{n}" for n in range(10_000)))) == MOST_TERMS
