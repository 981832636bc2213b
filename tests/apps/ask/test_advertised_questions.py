"""Every question that our own texts advertise is answered right on the sample, over the whole path with memory.

The tables of questions are in advertised/*.toml, in the form of bench/question_file.py, with two fields more: `tell`
has messages that are sent before the question and must teach something or take it back; `offered = true` accepts the
right one among the choices. A question must otherwise be answered at once. Gold SQL was written from the schema.
"""

from __future__ import annotations

import sqlite3
import tomllib
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio

from bench.question_file import Question
from bench.questions import Outcome, judge, open_database
from recollect import Scope, connect
from recollect.apps.ask.analyst import Analyst
from recollect.apps.ask.question import Answer, Ask
from recollect.apps.ask.sample import make_sample
from recollect.bootstrap import open_analyst
from recollect.settings import read_settings
from tests.citus_database import CITUS, emptied
from tests.copied_database import copied

TODAY = date(2026, 8, 14)
SOURCE = "sales"
# What gold SQL reads: each table with the names of what its rows belong to.
VIEWS = """
CREATE TEMP VIEW cust AS SELECT c.*, r.name region FROM customers c JOIN regions r ON r.id = c.region_id;
CREATE TEMP VIEW emp AS SELECT e.*, first_name || ' ' || last_name employee, r.name region
    FROM employees e JOIN regions r ON r.id = e.region_id;
CREATE TEMP VIEW ord AS SELECT o.*, c.name customer, c.region, e.employee
    FROM orders o JOIN cust c ON c.id = o.customer_id JOIN emp e ON e.id = o.employee_id;
CREATE TEMP VIEW sold AS SELECT s.*, o.customer_id, o.employee_id, o.channel, o.customer, o.region, o.employee
    FROM sales s JOIN ord o ON o.id = s.order_id;
CREATE TEMP VIEW line AS SELECT l.*, quantity * unit_price revenue, p.name product, k.name category, o.ordered_at,
    o.channel, o.status order_status, o.customer_id, o.customer, o.region
    FROM order_lines l JOIN ord o ON o.id = l.order_id JOIN products p ON p.id = l.product_id
    JOIN categories k ON k.id = p.category_id;
"""


def read_chains() -> Iterator[Any]:
    for path in sorted(Path(__file__).parent.glob("advertised/*.toml")):
        for at, each in enumerate(tomllib.loads(path.read_text(encoding="utf-8"))["question"], 1):
            steps = [each, *each.pop("then", ())]
            yield pytest.param(steps, id=f"{path.stem} {at}: {each['ask'][:50]}")


@pytest.fixture(scope="module")
def database_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("advertised") / "sample.db"
    make_sample(path, TODAY)
    return path


@pytest.fixture(scope="module")
def gold(database_file: Path) -> Iterator[sqlite3.Connection]:
    with open_database(database_file) as connection:
        connection.executescript(VIEWS)
        yield connection


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def analyst(server: str, template: str, database_file: Path) -> AsyncIterator[Analyst]:
    """One for all questions: each conversation has a user of its own."""
    with emptied(CITUS) if CITUS else copied(server, template) as dsn:
        settings = read_settings({}, dsn=dsn, deadline=60.0)
        async with connect(settings, worker=False) as memory, open_analyst(memory, settings) as one:
            one.today = lambda: TODAY
            await one.sources.add(Scope("dana"), SOURCE, f"sqlite:///{database_file}", local=True)
            yield one


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("steps", list(read_chains()))
async def test_advertised_question_is_answered_right(
    steps: list[dict[str, Any]], analyst: Analyst, gold: sqlite3.Connection
) -> None:
    scope = Scope(uuid4().hex, session="monday")
    for step in steps:
        for message in step.get("tell", ()):
            told = await analyst.ask(scope, Ask(question=message, source=SOURCE))
            assert told.learned or not told.sql, f"taught nothing: {message}"
        answer = await analyst.ask(scope, Ask(question=step["ask"], source=SOURCE))
        assert await judge_step(step, answer, analyst, scope, gold) == "right", step["ask"]


async def judge_step(
    step: Mapping[str, Any], answer: Answer, analyst: Analyst, scope: Scope, gold: sqlite3.Connection
) -> str:
    """Return "right", or what is wrong with an answer. The right one among choices is taken."""
    wanted = step.get("gold", ())
    golds = (wanted,) if isinstance(wanted, str) else tuple(wanted)
    question = Question(step["ask"], golds, step.get("ordered", False))
    if answer.sql:
        verdict, detail = judge(question, Outcome(answer.full_sql), gold)
        return verdict if verdict == "right" else f"{verdict}: {detail}\n{answer.full_sql}"
    if step.get("expect") == "clarify":
        return "right"
    if not step.get("offered"):
        return f"asked: {answer.text}"
    choices = [(asked.id, choice) for asked in answer.clarifications for choice in asked.choices]
    for clarification, choice in choices:
        trial = Ask(question=choice.label, source=SOURCE, choice=choice, remembers=False)
        made = await analyst.ask(replace(scope, session=None), trial)
        if judge(question, Outcome(made.full_sql), gold)[0] == "right":
            await analyst.choose(scope, Ask(question=choice.label), clarification, choice.id)
            return "right"
    return f"not among the choices: {[choice.label for _, choice in choices]}"
