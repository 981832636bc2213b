"""`recollect resolve` and `ontology`: what words mean, and the file that says so, in and out again."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from .cli_program import Cli

SHOP = """
tables:
  customers: {description: One row per account., columns: {id: , name: {synonyms: [title]}}}
  orders: {synonyms: [purchases], columns: [id, total]}
  invoices: {columns: [total]}
glossary:
  regular: {definition: ordered within 90 days, defining_sql: seen > now() - interval '90 days'}
"""


@pytest.fixture
def shop(cli: Cli) -> Cli:
    """The command line on a project that has an ontology."""
    assert cli("ontology", "import", "-", stdin=SHOP).code == 0
    return cli


def test_an_import_says_what_it_did_and_does_it_once(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "shop.yaml").write_text(SHOP)
    first = cli("ontology", "import", str(tmp_path / "shop.yaml"), "--json").json
    assert (first["added"], first["unchanged"]) == (9, 0)
    assert cli("ontology", "import", "-", stdin=SHOP).out == "0 added, 0 changed, 0 removed, 9 unchanged\n"
    fewer = cli("ontology", "import", "-", "--replace", "--json", stdin="glossary: {regular: ordered twice}").json
    assert (fewer["changed"], fewer["removed"]) == (1, 8)


def test_a_word_means_what_the_nearest_tier_says(shop: Cli) -> None:
    [known] = shop("resolve", "Regulars", "--json").json["resolutions"]
    assert (known["is_resolved"], known["meaning"], known["tier"]) == (True, "ordered within 90 days", "ontology")
    assert known["sql"] == "seen > now() - interval '90 days'"
    [here] = shop("resolve", "regular", "--define", "regular=ordered twice", "--json").json["resolutions"]
    assert (here["meaning"], here["tier"]) == ("ordered twice", "session")
    assert [other["tier"] for other in here["candidates"]] == ["ontology"]


def test_what_nobody_explained_is_shown_as_unknown(shop: Cli) -> None:
    ran = shop("resolve", "purchases", "total", "churn")
    rows = {line.split()[0]: line for line in ran.out.splitlines() if line.strip()}
    assert ran.code == 0
    assert "the table orders" in rows["purchases"]
    assert "unknown" in rows["total"]
    assert "ask which is meant" in " ".join(ran.out.split())
    assert "no meaning is known" in rows["churn"]


def test_terms_are_found_by_kind_and_by_misspelt_words(shop: Cli) -> None:
    tables = shop("ontology", "list", "--kind", "table", "--json").json["terms"]
    assert [term["name"] for term in tables] == ["customers", "invoices", "orders"]
    assert "customers" in shop("ontology", "list", "custmers").out
    assert shop("ontology", "list", "weather").out == "No such term.\n"


def test_a_term_is_changed_in_what_is_given(shop: Cli) -> None:
    shop("ontology", "set", "regular", "--synonym", "loyal one")
    changed = shop("ontology", "set", "regular", "--description", "ordered twice", "--json").json
    assert (changed["description"], changed["synonyms"]) == ("ordered twice", ["loyal one"])
    assert changed["sql"] == "seen > now() - interval '90 days'"


def test_a_dropped_table_takes_its_columns_along(shop: Cli) -> None:
    assert shop("ontology", "drop", "orders").out == "dropped orders\n"
    left = {term["name"] for term in shop("ontology", "list", "--json").json["terms"]}
    assert not {name for name in left if name.startswith("orders")}
    missing = shop("ontology", "drop", "orders", "--json")
    assert (missing.code, missing.error["code"]) == (3, "not_found")


def test_what_is_exported_can_be_imported(shop: Cli) -> None:
    written = shop("ontology", "export").out
    assert yaml.safe_load(written) == shop("ontology", "export", "--json").json
    again = shop("ontology", "import", "-", "--project", "other", "--json", stdin=written).json
    assert again["added"] == 9
    assert shop("ontology", "export", "--project", "other").out == written


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("tables: [", "recollect: FILE"),
        ("glossary: {a: {sinonyms: [b]}}", "sinonyms"),
    ],
)
def test_a_wrong_file_is_named_and_nothing_is_kept(cli: Cli, source: str, complaint: str) -> None:
    ran = cli("ontology", "import", "-", stdin=source)
    assert (ran.code, len(ran.err.splitlines())) == (2, 1)
    assert complaint in ran.err
    assert cli("ontology", "list").out == "No such term.\n"


def test_a_file_that_is_not_there_is_said_so(cli: Cli) -> None:
    ran = cli("ontology", "import", "/nowhere.yaml")
    assert (ran.code, ran.err) == (2, "recollect: FILE: /nowhere.yaml: No such file or directory\n")
