"""Evaluation of asking a database: what counts as the same rows, how verdicts are given, and that the gold is sound."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from bench.question_file import Definition, Question, QuestionSet, read_questions
from bench.questions import Outcome, Result, evaluate, open_database, parse_sqlite_path
from bench.questions import questions as run_questions
from bench.same_rows import same_rows
from recollect.apps.ask.sample import make_sample
from recollect.errors import InvalidInput

from .question_databases import make_clinic, make_flights

QUESTIONS = Path(__file__).parent / "questions"
CHINOOK = Path(os.environ.get("RECOLLECT_CHINOOK", Path(__file__).parents[3] / "shared" / "data" / "chinook.sqlite"))
LAST_DAY = date(2025, 12, 31)  # `today` of questions/sample.toml
MAKERS: dict[str, Callable[[Path], None]] = {
    "sample": lambda path: make_sample(path, LAST_DAY),
    "clinic": make_clinic,
    "flights": make_flights,
}
MARKS = {  # right among the questions that have an answer, wrong among the answers given
    "chinook": (0.60, 0.05),
    "sample": (0.50, 0.05),
    "clinic": (0.55, 0.05),
    "flights": (0.14, 0.36),
}
COUNT, NAMES = "SELECT count(*) FROM town", "SELECT name FROM town"


@pytest.fixture
def towns(tmp_path: Path) -> Path:
    path = tmp_path / "towns.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE town (id INTEGER PRIMARY KEY, name TEXT, people INTEGER)")
        connection.executemany(
            "INSERT INTO town VALUES (?, ?, ?)", [(1, "Ulm", 126), (2, "Graz", 291), (3, "Bern", 134)]
        )
    return path


class Scripted:
    """Answers as told; remembers which state each question came with."""

    def __init__(self, **answers: Outcome | Exception) -> None:
        self.answers = answers
        self.heard: list[tuple[str, Any]] = []

    async def __call__(self, question: Question, state: Any) -> Outcome:
        self.heard.append((question.ask, state))
        answer = self.answers[question.ask]
        if isinstance(answer, Exception):
            raise answer
        return answer


def one_chain(*questions: Question) -> QuestionSet:
    return QuestionSet("towns", date(2026, 1, 1), (questions,))


def one_each(*questions: Question) -> QuestionSet:
    return QuestionSet("towns", date(2026, 1, 1), tuple((question,) for question in questions))


def verdicts(result: Result) -> dict[str, str]:
    return {each.question.ask: each.verdict for each in result.judged}


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        pytest.param([("Ulm", 1), ("Graz", 2)], [("Graz", 2), ("Ulm", 1)], id="rows in another order"),
        pytest.param([("Ulm", 1), ("Graz", 2)], [(1, "Ulm"), (2, "Graz")], id="columns in another order"),
        pytest.param([("Ulm", 7)], [(1, "Ulm", 7, "DE")], id="with a key and a label more"),
        pytest.param([("Ada Lind",)], [(4, "Lind", "Ada")], id="a name in two columns"),
        pytest.param([(190.09999999999997,), (2.0,)], [(2,), (190.1,)], id="the noise of a sum"),
        pytest.param([("2024", 5)], [(2024, 5)], id="a year as a text"),
        pytest.param([("2024-01-01",)], [("2024-01-01 00:00:00",)], id="midnight"),
        pytest.param([(None, 3)], [(None, 3)], id="nothing is nothing"),
        pytest.param([(2, 2), (2, 3)], [(3, 2), (2, 2)], id="columns that look alike"),
    ],
)
def test_the_same_is_recognised_in_another_form(gold: list[Any], answer: list[Any]) -> None:
    assert same_rows(gold, answer)


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        pytest.param([("Ulm", 1)], [("Ulm", 1), ("Graz", 2)], id="a row more"),
        pytest.param([("Ulm",), ("Ulm",)], [("Ulm",), ("Graz",)], id="one row twice"),
        pytest.param([("Ulm", 1), ("Graz", 2)], [("Ulm", 2), ("Graz", 1)], id="the right values in the wrong rows"),
        pytest.param([("Ulm", 1)], [("Ulm",)], id="a column less"),
        pytest.param([(100.0,)], [(100.01,)], id="a little more"),
        pytest.param([(0,)], [(None,)], id="no sum is not nought"),
        pytest.param([(3,)], [(3, "Ulm", "DE", 4, 5)], id="a number that happens to be in a row"),
        pytest.param([(5, 5)], [(5, 6)], id="one column for two"),
    ],
)
def test_what_differs_is_not_the_same(gold: list[Any], answer: list[Any]) -> None:
    assert not same_rows(gold, answer)


@pytest.mark.parametrize(
    ("answer", "is_same"),
    [
        pytest.param([("Graz", 9), ("Ulm", 4), ("Bern", 4)], True, id="as it is"),
        pytest.param([("Graz", 9), ("Bern", 4), ("Ulm", 4)], True, id="those with the same value change places"),
        pytest.param([("Ulm", 4), ("Graz", 9), ("Bern", 4)], False, id="the largest is not first"),
    ],
)
def test_where_the_order_counts_it_is_that_of_the_values(answer: list[Any], is_same: bool) -> None:
    gold = [("Graz", 9), ("Ulm", 4), ("Bern", 4)]
    assert same_rows(gold, answer, ordered=True) is is_same
    assert same_rows(gold, answer)


def test_without_a_value_that_tells_the_order_the_rows_do() -> None:
    assert not same_rows([("b",), ("c",), ("a",)], [("a",), ("b",), ("c",)], ordered=True)


async def test_each_question_gets_one_verdict(towns: Path) -> None:
    asked = one_each(
        Question("how many", (COUNT,)),
        Question("names", (NAMES,)),
        Question("either", (NAMES, COUNT)),
        Question("asked back", (COUNT,)),
        Question("happy"),
        Question("happiest"),
        Question("no SQL", (COUNT,)),
        Question("broken", (COUNT,)),
    )
    told: dict[str, Outcome | Exception] = {
        "how many": Outcome("SELECT count(*) AS towns FROM town"),
        "names": Outcome("SELECT name FROM town WHERE people > 130"),
        "either": Outcome(COUNT),
        "asked back": Outcome(asks=("what is a town?",)),
        "happy": Outcome(asks=("what is happy?",)),
        "happiest": Outcome(COUNT),
        "no SQL": Outcome("SELEC 1"),
        "broken": ValueError("lost"),
    }

    result = await evaluate(asked, towns, Scripted(**told))

    assert verdicts(result) == {
        "how many": "right",
        "names": "wrong",
        "either": "right",
        "asked back": "clarified",
        "happy": "clarified as expected",
        "happiest": "wrong",
        "no SQL": "failed",
        "broken": "failed",
    }
    counts = result.to_dict()
    assert (counts["asked"], counts["right_share"], counts["wrong_share"]) == (8, 0.3333, 0.5)
    assert counts["by_kind"]["not to be answered"]["clarified_as_expected"] == 1
    assert counts["questions"][-1]["detail"] == "ValueError: lost"


@pytest.mark.parametrize(
    ("gold", "sql", "verdict"),
    [
        pytest.param(NAMES, "SELECT name, sum(people) FROM town GROUP BY name", "right", id="what it ranked by"),
        pytest.param(COUNT, "SELECT count(*), avg(people), max(people) FROM town", "wrong", id="guesses beside it"),
    ],
)
async def test_figures_that_nobody_asked_for_are_wrong(towns: Path, gold: str, sql: str, verdict: str) -> None:
    result = await evaluate(one_each(Question("towns", (gold,))), towns, Scripted(towns=Outcome(sql)))
    assert verdicts(result) == {"towns": verdict}


async def test_a_follow_up_comes_with_the_state_of_the_last_answer(towns: Path) -> None:
    chain = one_chain(
        Question("first", (COUNT,)), Question("second", (NAMES,), step=1), Question("third", (NAMES,), step=2)
    )
    answer = Scripted(
        first=Outcome(COUNT, state="counted"), second=Outcome(asks=("which?",)), third=Outcome(NAMES, state="named")
    )

    result = await evaluate(chain, towns, answer)

    assert answer.heard == [("first", None), ("second", "counted"), ("third", None)]
    assert [each.before for each in result.judged] == [(), ("first",), ("first", "second")]
    kinds = result.to_dict()["by_kind"]
    assert (kinds["follow-ups"]["asked"], kinds["follow-ups"]["right"]) == (2, 1)
    assert kinds["follow-ups of right answers"]["asked"] == 1


async def test_nothing_is_written_whatever_is_answered(towns: Path) -> None:
    result = await evaluate(one_each(Question("drop", (COUNT,))), towns, Scripted(drop=Outcome("DELETE FROM town")))
    assert verdicts(result) == {"drop": "failed"}
    with open_database(towns) as connection:
        assert connection.execute(COUNT).fetchone() == (3,)


@pytest.mark.parametrize("dsn", ["postgresql://there/db", "sqlite://", "sqlite:///", "towns.sqlite"])
def test_gold_is_run_on_sqlite_only(dsn: str) -> None:
    with pytest.raises(InvalidInput, match="sqlite:///FILE"):
        parse_sqlite_path(dsn)


def test_a_database_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with (
        pytest.raises(InvalidInput, match="no SQLite file"),
        open_database(parse_sqlite_path(f"sqlite:///{tmp_path}/none.sqlite")),
    ):
        pass
    assert not list(tmp_path.iterdir())


def test_a_set_is_read_with_what_was_taught(tmp_path: Path) -> None:
    path = tmp_path / "towns.toml"
    path.write_text(
        """
        today = 2026-01-01
        [[definition]]
        names = ["big"]
        table = "town"
        condition = "people > 200"
        [[question]]
        ask = "big towns"
        gold = "SELECT 1"
        known = ["big"]
        language = "zh"
        [[question.then]]
        ask = "the happy ones"
        expect = "clarify"
        """,
        encoding="utf-8",
    )
    big = Definition(("big",), "town", "people > 200")
    first = Question("big towns", ("SELECT 1",), known=(big,), language="zh")
    then = Question("the happy ones", known=(big,), language="zh", step=1)
    assert read_questions(path) == QuestionSet("towns", date(2026, 1, 1), ((first, then),))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[[question]", "not TOML"),
        ('[[question]]\nask = "x"', "either gold or expect"),
        ('[[question]]\nask = "x"\ngold = "SELECT 1"\nexpect = "clarify"', "either gold or expect"),
        ('[[question]]\nask = "x"\ngolden = "SELECT 1"', "golden"),
        ('[[question]]\nask = "x"\ngold = "SELECT 1"\nknown = ["big"]', "big"),
        ('[[question]]\ngold = "SELECT 1"', "ask"),
    ],
)
def test_what_is_no_set_is_said(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "towns.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput, match=rf"towns\.toml.*{problem}"):
        read_questions(path)


def made(name: str, folder: Path) -> Path:
    if name == "chinook":
        if not CHINOOK.exists():
            pytest.skip(f"no {CHINOOK}")
        return CHINOOK
    MAKERS[name](folder / f"{name}.sqlite")
    return folder / f"{name}.sqlite"


@pytest.mark.parametrize("name", ["chinook", "sample", "clinic", "flights"])
async def test_every_gold_query_runs_and_finds_something(name: str, tmp_path: Path) -> None:
    asked = read_questions(QUESTIONS / f"{name}.toml")
    database = made(name, tmp_path)

    async def gold(question: Question, _: Any) -> Outcome:
        return Outcome(question.gold[-1]) if question.gold else Outcome(asks=("?",))

    result = await evaluate(asked, database, gold)
    assert {each.verdict for each in result.judged} == {"right", "clarified as expected"}
    with open_database(database) as connection:
        found = {sql: connection.execute(sql).fetchall() for each in asked.questions for sql in each.gold}
    assert [sql for sql, rows in found.items() if rows in ([], [(None,)], [(0,)])] == []


def dump_sample(path: Path, last_day: date) -> str:
    make_sample(path, last_day)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        return "\n".join(connection.iterdump())


def test_sample_is_the_same_for_the_same_last_day(tmp_path: Path) -> None:
    one, two, again = (dump_sample(tmp_path / name, LAST_DAY) for name in ("one", "two", "two"))
    assert one == two == again
    assert one != dump_sample(tmp_path / "two", LAST_DAY + timedelta(days=1))


@pytest.mark.parametrize("last_day", [LAST_DAY, date(2026, 2, 1), date(2028, 2, 29)])
def test_sample_has_orders_every_day_until_its_last(last_day: date, tmp_path: Path) -> None:
    make_sample(tmp_path / "shop.db", last_day)
    with closing(sqlite3.connect(tmp_path / "shop.db")) as connection:
        [(first, last, days)] = connection.execute(
            "SELECT min(date(ordered_at)), max(date(ordered_at)), count(DISTINCT date(ordered_at)) FROM orders"
        )
        [(sale,)] = connection.execute("SELECT max(sale_date) FROM sales")
        [(login,)] = connection.execute("SELECT date(max(last_login_at)) FROM customers")
        [(early,)] = connection.execute(
            "SELECT count(*) FROM orders o JOIN customers c ON c.id = o.customer_id"
            " WHERE date(o.ordered_at) < c.signed_up_on"
        )
    assert (first, last, sale, login) == ("2022-01-01", *[last_day.isoformat()] * 3)
    assert days == (last_day - date(2022, 1, 1)).days + 1
    assert early == 0


def test_later_sample_keeps_the_sales_of_earlier_years(tmp_path: Path) -> None:
    figures = []
    for last_day in (LAST_DAY, date(2029, 7, 1)):
        make_sample(tmp_path / "shop.db", last_day)
        with closing(sqlite3.connect(tmp_path / "shop.db")) as connection:
            sql = "SELECT region_id, count(*), sum(amount) FROM sales WHERE sale_date < '2025-12-01' GROUP BY 1"
            figures.append(connection.execute(sql).fetchall())
    assert figures[0] == figures[1]


MINE = """
today = 2025-12-31
[[definition]]
names = ["active"]
table = "customers"
condition = "last_login_at >= '2025-12-01'"
[[question]]
ask = "How many customers are there?"
gold = "SELECT count(*) FROM customers"
[[question]]
ask = "How many active customers are there?"
gold = "SELECT count(*) FROM customers WHERE last_login_at >= '2025-12-01'"
known = ["active"]
[[question]]
ask = "How many active customers are there?"
expect = "clarify"
[[question]]
ask = "How many products are there?"
gold = "SELECT 1 FROM products"
"""


@pytest.fixture
def mine(tmp_path: Path) -> tuple[Path, str]:
    make_sample(tmp_path / "shop.sqlite", LAST_DAY)
    (tmp_path / "mine.toml").write_text(MINE, encoding="utf-8")
    return tmp_path / "mine.toml", f"sqlite:///{tmp_path / 'shop.sqlite'}"


def test_one_s_own_questions_go_through_the_reading_of_questions(
    mine: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    run_questions([mine[0]], mine[1], json=True)
    said = json.loads(capsys.readouterr().out)
    assert [each["verdict"] for each in said["questions"]] == ["right", "right", "clarified as expected", "wrong"]


def test_what_is_wrong_is_listed_with_both_queries(mine: tuple[Path, str], capsys: pytest.CaptureFixture[str]) -> None:
    run_questions([mine[0]], mine[1])
    said = capsys.readouterr().out
    assert "wrong: How many products are there?" in said
    assert "gold: SELECT 1 FROM products" in said
    assert "SQL: SELECT" in said
    assert "How many customers are there?" not in said


@pytest.mark.parametrize("name", MARKS)
def test_the_sets_stay_above_their_marks(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_questions([QUESTIONS / f"{name}.toml"], f"sqlite:///{made(name, tmp_path)}", json=True)
    said = json.loads(capsys.readouterr().out)
    least_right, most_wrong = MARKS[name]
    assert said["right_share"] >= least_right
    assert said["wrong_share"] <= most_wrong
    unknown = said["by_kind"]["not to be answered"]
    assert unknown["clarified_as_expected"] >= 0.9 * unknown["asked"]
