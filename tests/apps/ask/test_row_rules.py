"""A role that may see the customers of region North must not learn by asking whether a value stands in a hidden row: a
question about it gets the answer of a question about a value that stands nowhere."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from recollect.apps.ask.semantic.access import Access, restrict_catalog, restrict_sql
from recollect.errors import QueryFailed
from tests.apps.ask.asking_door import SALES, Door
from tests.apps.ask.conftest import Opener

NORTH = {"rows": {"customers": "region_id = 1"}}
HIDDEN, NOWHERE, SEEN = "Seville", "Granada", "Oslo"  # a city in the South, none, and one in the North
QUESTIONS = (
    "How many customers are there in {}?",
    "How many customers are in the city {}?",
    "Which customers are not in {}?",
    "Total sales of customers in {}",
    "{}",
    "How many customers have the city '{}'?",
)
ASKING = ("/answerQuestion", "/answerDataQuestion", "/answerMetadataQuestion", "/streamAnswerQuestion", "/generateVQL")


@pytest.fixture
def north(door: Door) -> dict[str, str]:
    """Headers of a caller that is limited to the North and speaks for nobody."""
    own = door.closed()["service"]
    door.http.put(f"{SALES}/access", json={"access": {"service": NORTH}}).raise_for_status()
    return own


def told(door: Door, headers: dict[str, str], path: str, question: str) -> str:
    """All of an answer that does not tell the time."""
    answer = door.http.post(path, json={"question": question}, headers=headers)
    if not answer.headers["content-type"].startswith("application/json"):
        return f"{answer.status_code} {answer.text}"
    kept = {name: value for name, value in answer.json().items() if not name.endswith("_time")}
    for each in kept.get("clarifications", ()):
        del each["id"]  # made anew for every request
    return f"{answer.status_code} {json.dumps(kept, sort_keys=True)}"


def about(word: str, text: str) -> str:
    return text.replace(word, "*").replace(word.lower(), "*").replace(word.upper(), "*")


@pytest.mark.parametrize("path", [*ASKING, f"{SALES}/text2sql"])
def test_hidden_value_is_answered_like_one_that_is_nowhere(door: Door, north: dict[str, str], path: str) -> None:
    for question in QUESTIONS:
        hidden, nowhere = (about(word, told(door, north, path, question.format(word))) for word in (HIDDEN, NOWHERE))
        assert hidden == nowhere, question
        assert HIDDEN not in told(
            door, north, path, question.format(HIDDEN[:-2])
        )  # nor is it guessed from its beginning


@pytest.mark.parametrize("condition", ["city = '{}'", "city LIKE '{}%'", "1 / (city <> '{}') > 0"])
def test_own_statement_sees_only_its_rows(door: Door, north: dict[str, str], condition: str) -> None:
    def run(word: str) -> str:
        body = {"vql": f"SELECT count(*) FROM customers WHERE {condition.format(word)} AND city <> 'Tromsø'"}
        return door.http.post("/executeVQL", json=body, headers=north).text.replace(word, "*")

    assert run(HIDDEN) == run(NOWHERE)


def test_search_for_tables_does_not_look_at_hidden_values(door: Door, north: dict[str, str]) -> None:
    def search(word: str) -> str:
        found = door.http.get("/similaritySearch", params={"query": f"customers {word}", "scores": True}, headers=north)
        return found.text.replace(word, "*")

    assert search(HIDDEN) == search(NOWHERE)


def test_metadata_does_not_count_hidden_rows(door: Door, north: dict[str, str]) -> None:
    whole = door.http.post("/answerMetadataQuestion", json={"question": "Describe the table customers"}).json()
    own = door.http.post(
        "/answerMetadataQuestion", json={"question": "Describe the table customers"}, headers=north
    ).json()

    assert "208 rows" in whole["answer"]
    # As a number of its own: a duration or an id may have any digits.
    assert not re.search(r"(?<![\w.])208(?!\w)", str(own))
    assert "rows not counted" in own["answer"]


def test_visible_value_is_still_found(door: Door, north: dict[str, str], sample: Path) -> None:
    answer = door.http.post("/answerQuestion", json={"question": QUESTIONS[0].format(SEEN)}, headers=north).json()

    with closing(sqlite3.connect(sample)) as connection:
        [expected] = connection.execute("SELECT count(*) FROM customers WHERE city = ?", [SEEN]).fetchone()
    assert list(answer["execution_result"]["full"][0].values()) == [expected]
    assert expected > 0


def test_glossary_loses_values_when_a_rule_is_added(door: Door) -> None:
    def terms() -> str:
        return door.http.get("/v1/terms", params={"limit": 5000}).text

    assert HIDDEN in terms()
    door.http.put(f"{SALES}/access", json={"access": {"service": NORTH}}).raise_for_status()
    assert HIDDEN not in terms()
    assert "customers.city" in terms()


async def test_look_up_keeps_to_the_rule(sample: Path, opened: Opener) -> None:
    source = await opened(f"sqlite:///{sample}")
    place = [("customers", "city")]

    found = await source.values_like(place, [HIDDEN, SEEN], rules=NORTH["rows"])

    assert [each.value for each in found] == [SEEN]
    assert {each.value for each in await source.values_like(place, [HIDDEN, SEEN])} == {HIDDEN, SEEN}


async def test_condition_of_a_statement_never_runs_on_hidden_rows(postgres_shop: str, opened: Opener) -> None:
    """Otherwise its error would tell of them. PostgreSQL tries cheap conditions first, and this rule is a dear one."""
    source = await opened(postgres_shop)
    rule = "lower(upper(lower(upper(lower(full_name))))) <> 'ada byron'"
    statement = "SELECT count(*) FROM shopdata.customers WHERE 1 / (id - 1) >= 0"  # ada is number 1

    mine = await source.run(restrict_sql(statement, "postgres", Access(rows={"shopdata.customers": rule})))

    assert mine.rows == ((1,),)
    with pytest.raises(QueryFailed, match="division by zero"):
        await source.run(f"{statement} AND {rule}")


async def test_view_of_a_table_with_a_rule_is_not_seen(postgres_shop: str, opened: Opener) -> None:
    """A rule cannot reach inside a view; one with a rule of its own, or that is named for the role, is seen."""
    catalog = await (await opened(postgres_shop)).read_catalog()
    view, rows = "shopdata.big_orders", {"shopdata.orders": "id = 1"}

    assert restrict_catalog(catalog, Access()).table(view) is not None
    assert restrict_catalog(catalog, Access(rows=rows)).table(view) is None
    assert restrict_catalog(catalog, Access(rows={**rows, view: "id = 1"})).table(view) is not None
    assert restrict_catalog(catalog, Access(tables=("shopdata.orders", view), rows=rows)).table(view) is not None
