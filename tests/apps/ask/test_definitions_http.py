"""Definitions in a conversation over HTTP: how a meaning can be said, what it changes, and what is no definition."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from recollect import Scope, connect_sync
from recollect.apps.ask.sample import make_sample
from recollect.settings import Settings
from tests.apps.ask.asking_door import SALES, Door

ACTIVE = "How many active customers are there?"
LOGGED_IN = "last_login_at >= date('now', '-30 days')"
WEALTHY = "SELECT COUNT(*) FROM customers WHERE lifetime_value > 5000"


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample database with data until today: most meanings here are about the last days."""
    path = tmp_path_factory.mktemp("sample") / "sample.db"
    make_sample(path)
    return path


def count(sample: Path, sql: str) -> int:
    with sqlite3.connect(sample) as connection:
        return int(connection.execute(sql).fetchone()[0])


@pytest.mark.parametrize(
    ("message", "question", "sql"),
    [
        ("VIP: customers with lifetime value above 5000", "How many VIPs do we have?", WEALTHY),
        ("VIP = lifetime value above 5000", "How many VIP customers do we have?", WEALTHY),
        ("VIPs are customers with lifetime value above 5000", "How many VIPs are there?", WEALTHY),
        (
            "recent orders are those placed in the last 90 days",
            "How many recent orders are there?",
            "SELECT COUNT(*) FROM orders WHERE ordered_at >= date('now', '-90 days')",
        ),
        (
            "churned = no order in the last 180 days",
            "How many churned customers are there?",
            "SELECT COUNT(*) FROM customers WHERE id NOT IN"
            " (SELECT customer_id FROM orders WHERE ordered_at >= date('now', '-180 days'))",
        ),
        (
            "By sales I mean number of orders",
            "Sales in 2024",
            "SELECT COUNT(*) FROM orders WHERE ordered_at LIKE '2024%'",
        ),
        ("sales means number of orders", "Total sales", "SELECT COUNT(*) FROM orders"),
        ("headcount means number of employees", "What is the headcount?", "SELECT COUNT(*) FROM employees"),
        ("AOV = AVG(sales.amount)", "AOV in 2024", "SELECT AVG(amount) FROM sales WHERE sale_date LIKE '2024%'"),
        (
            "high-value = >$10k annual spend",
            "How many high-value customers are there?",
            "SELECT COUNT(*) FROM (SELECT o.customer_id FROM sales s JOIN orders o ON o.id = s.order_id"
            " WHERE s.sale_date >= date('now', '-1 year') GROUP BY o.customer_id HAVING SUM(s.amount) > 10000)",
        ),
        ("VIP is a customer with lifetime value over 5000", "How many VIPs are there?", WEALTHY),
        (
            "big spender = customers who spent more than 5000 in total",
            "How many big spenders are there?",
            "SELECT COUNT(*) FROM (SELECT o.customer_id FROM sales s JOIN orders o ON o.id = s.order_id"
            " GROUP BY o.customer_id HAVING SUM(s.amount) > 5000)",
        ),
        (
            "premium is tier gold",
            "How many premium customers are there?",
            "SELECT COUNT(*) FROM customers WHERE tier = 'gold'",
        ),
        (
            "our fiscal year ends June 30",
            "Total sales in FY2025",
            "SELECT SUM(amount) FROM sales WHERE sale_date >= '2024-07-01' AND sale_date < '2025-07-01'",
        ),
        (
            "loyal means those with more than 5 orders",
            "How many loyal customers are there?",
            "SELECT COUNT(*) FROM (SELECT customer_id FROM orders GROUP BY customer_id HAVING COUNT(*) > 5)",
        ),
        (
            "loyal means with more than 5 orders",
            "How many loyal customers are there?",
            "SELECT COUNT(*) FROM (SELECT customer_id FROM orders GROUP BY customer_id HAVING COUNT(*) > 5)",
        ),
        (
            "big orders are orders over 1000",
            "How many big orders are there?",
            "SELECT COUNT(*) FROM sales WHERE amount > 1000",
        ),
        (
            "活跃客户是指30天内登录过的客户",
            "有多少活跃客户？",
            f"SELECT COUNT(*) FROM customers WHERE {LOGGED_IN}",
        ),
        ("AOV means average sales amount", "AOV in 2024", "SELECT AVG(amount) FROM sales WHERE sale_date LIKE '2024%'"),
    ],
)
def test_what_a_message_defines_is_used(
    door: Door, settings: Settings, sample: Path, message: str, question: str, sql: str
) -> None:
    [learned] = door.ask(message)["learned"]
    assert learned["scope"] == "user"
    with connect_sync(settings, worker=False) as memory:
        memory.settle(Scope("john"))  # what is learned from the message in the background leaves the meaning as it is
    assert int(door.figure(question)) == count(sample, sql)


@pytest.mark.parametrize(
    "message",
    [
        "customers with tier = gold",
        "tier = gold",
        "Total sales: by region",
        "orders are shipped",
        "sales by region: 2024",
    ],
)
def test_a_condition_or_a_heading_defines_nothing(door: Door, message: str) -> None:
    assert door.ask(message)["learned"] == []


def test_a_pronoun_stands_for_what_the_last_answer_was_about(door: Door) -> None:
    assert door.ask("call them punters", session_id="one")["learned"] == []
    assert door.ask("How many customers are there?", session_id="two")["sql_query"]
    [learned] = door.ask("we call them punters", session_id="two")["learned"]
    assert (learned["term"], learned["meaning"]) == ("punters", "customers")
    assert door.figure("How many punters are there?") == door.figure("How many customers are there?")


def test_a_changed_mind_replaces_the_meaning_and_undo_ends_it(door: Door, sample: Path) -> None:
    door.ask("active means logged in within 30 days")
    assert door.figure(ACTIVE) == count(sample, f"SELECT COUNT(*) FROM customers WHERE {LOGGED_IN}")
    [learned] = door.ask("active now means ordered within 60 days")["learned"]
    assert learned["term"] == "active"
    ordered = "SELECT customer_id FROM orders WHERE ordered_at >= date('now', '-60 days')"
    assert door.figure(ACTIVE) == count(sample, f"SELECT COUNT(*) FROM customers WHERE id IN ({ordered})")
    assert door.sql(ACTIVE, "jane")["needs_clarification"]
    assert door.http.delete(f"/api/projects/default/memory/user/{learned['id']}?user_id=john").status_code in (200, 204)
    assert door.sql(ACTIVE)["needs_clarification"]


@pytest.mark.parametrize(
    ("first", "then", "question"),
    [
        ("recent orders are those of the last 14 days", "recent means 7 days", "How many recent orders are there?"),
        ("近期订单是指最近14天的订单", "近期改为7天", "有多少近期订单？"),
    ],
)
def test_a_term_is_the_same_without_the_rows_it_describes(
    door: Door, sample: Path, first: str, then: str, question: str
) -> None:
    door.ask(first)
    [learned] = door.ask(then)["learned"]
    assert learned["replaces"]
    assert door.figure(question) == count(
        sample, "SELECT COUNT(*) FROM orders WHERE ordered_at >= date('now', '-7 days')"
    )


def test_a_follow_up_is_no_meaning_of_an_unknown_word(door: Door) -> None:
    assert door.ask("How many loyal customers are there?", session_id="one")["sql_query"] == ""
    assert door.ask("and in the south?", session_id="one")["learned"] == []


@pytest.mark.parametrize("opening", ["", "those who ", "I mean ", "active means "])
def test_a_clarification_is_answered_in_own_words(door: Door, sample: Path, opening: str) -> None:
    assert door.ask(ACTIVE, session_id="one")["sql_query"] == ""
    answer = door.ask(f"{opening}logged in within 30 days", session_id="one")
    assert [each["term"] for each in answer["learned"]] == ["active"]
    [row] = answer["execution_result"]["full"]
    assert list(row.values()) == [count(sample, f"SELECT COUNT(*) FROM customers WHERE {LOGGED_IN}")]
    assert "GROUP BY" in door.ask("and by region?", session_id="one")["sql_query"]
    assert door.ask(ACTIVE, session_id="two")["sql_query"] == answer["sql_query"]


def test_another_question_is_no_reply_to_a_clarification(door: Door) -> None:
    assert door.ask(ACTIVE, session_id="one")["sql_query"] == ""
    answer = door.ask("total sales by region for 2024", session_id="one")
    assert answer["sql_query"]
    assert answer["learned"] == []


def test_an_average_per_order_can_follow_another_question(door: Door) -> None:
    assert door.ask("total sales by region for 2024", session_id="one")["sql_query"]
    answer = door.ask("average order value by channel", session_id="one")
    assert answer["sql_query"] or answer["clarifications"]


def test_a_follow_up_changes_the_best_reading_that_was_offered(door: Door) -> None:
    [asked] = door.ask("who are our good customers", session_id="one")["clarifications"]
    assert asked["category"] == "ambiguous"
    assert "COUNT" in door.ask("how many of them are there?", session_id="one")["sql_query"]


def test_follow_up_after_an_offer_is_offered_if_an_answer_came_before(door: Door) -> None:
    assert door.ask("total sales by region for 2024", session_id="one")["sql_query"]
    assert door.ask("who are our good customers", session_id="one")["clarifications"]
    follow_up = door.ask("how many of them are there?", session_id="one")
    assert follow_up["sql_query"] == ""
    assert follow_up["clarifications"]


def test_word_with_another_name_keeps_its_own(door: Door) -> None:
    door.ask("we call customers clients", session_id="one")
    door.post("/api/projects/default/memory/user", user_id="john", type="terminology", key="customers", value="clients")
    clients = door.ask("how many clients are there?", session_id="two")["sql_query"]
    assert clients == door.ask("how many customers are there?", session_id="three")["sql_query"] != ""


def test_same_question_is_read_anew_after_its_word_was_changed(door: Door) -> None:
    door.ask("recent means in the last 14 days", session_id="one")
    assert door.ask("how many recent orders?", session_id="one")["sql_query"]
    door.ask("recent now means in the last 30 days", session_id="one")
    again = door.ask("how many recent orders?", session_id="one")["sql_query"]
    assert again.count("ordered_at") == 2  # one period: from and until


def test_heading_of_a_follow_up_is_its_title(door: Door) -> None:
    door.ask("total sales by region for 2024", session_id="one")
    answer = door.ask("what about 2023?", session_id="one")
    assert answer["answer"].startswith("Total sales by region, 2023:")
    assert "Changed: period" in answer["query_explanation"]


def test_compared_periods_of_a_follow_up_have_a_figure_each(door: Door) -> None:
    assert door.ask("total sales by region for 2024", session_id="one")["sql_query"]
    compared = door.ask("compare 2023 and 2024", session_id="one")
    assert compared["title"] == "Total sales by region and year, 2023 and 2024"


@pytest.mark.parametrize(("term", "says"), [("Active", "means a customer who"), ("Active customer", "=")])
def test_the_project_s_knowledge_defines_a_word(door: Door, sample: Path, term: str, says: str) -> None:
    fact = {"fact": f"{term} {says} ordered within 45 days", "category": "business_rule"}
    known = door.post("/api/projects/default/knowledge", **fact)
    [resolved] = door.post("/v1/resolve", 200, user="john", terms=[term])["resolutions"]
    assert (resolved["tier"], resolved["meaning"]) == ("project", fact["fact"])
    ordered = "SELECT customer_id FROM orders WHERE ordered_at >= date('now', '-45 days')"
    assert door.figure(ACTIVE) == count(sample, f"SELECT COUNT(*) FROM customers WHERE id IN ({ordered})")
    door.ask("active means lifetime value above 5000")
    assert door.figure(ACTIVE) == count(sample, WEALTHY)
    assert door.http.delete(f"/api/projects/default/knowledge/{known['id']}").status_code == 200
    assert door.sql(ACTIVE, "jane")["needs_clarification"]


GLOSSARY = "/api/projects/default/glossary"
GOLD = "How many gold customers are there?"


def test_a_glossary_definition_in_words_is_read(door: Door, sample: Path) -> None:
    door.post(GLOSSARY, term="churned", definition="no order in the last 180 days")
    ordered = "SELECT customer_id FROM orders WHERE ordered_at >= date('now', '-180 days')"
    answer = door.sql("How many churned customers are there?")
    [row] = answer["rows"]
    assert list(row.values()) == [count(sample, f"SELECT COUNT(*) FROM customers WHERE id NOT IN ({ordered})")]
    assert [each["source"] for each in answer["assumptions"]] == ["ontology"]


def test_a_glossary_definition_that_fits_nothing_is_named_and_asked_about(door: Door) -> None:
    door.post(GLOSSARY, term="strategic customer", definition="a partner that we value highly")
    answer = door.sql("How many strategic customers are there?")
    [clarification] = answer["clarifications"]
    assert clarification["choices"]
    assert "a partner that we value highly" in clarification["question"]
    assert any("a partner that we value highly" in note for note in answer["metadata"]["notes"])


def test_a_glossary_text_does_not_stop_a_plain_question(door: Door) -> None:
    plain = door.figure("How many customers are there?")
    door.post(GLOSSARY, term="customer", definition="A company that buys from us")
    answer = door.sql("How many customers are there?")
    assert list(answer["rows"][0].values()) == [plain]
    assert any("A company that buys from us" in note for note in answer["metadata"]["notes"])


def test_a_meaning_without_sense_changes_no_answer_and_is_named(door: Door) -> None:
    plain = door.sql(GOLD)
    assert door.ask("gold means purple elephants")["learned"]
    answer = door.sql(GOLD)
    assert answer["sql"] == plain["sql"]
    assert answer["assumptions"] == []
    assert any("purple elephants" in note for note in answer["metadata"]["notes"])


def test_a_meaning_without_sense_of_an_unknown_word_is_asked_about(door: Door) -> None:
    plain = door.sql(ACTIVE)["clarifications"][0]["suggestions"]
    door.ask("active means purple elephants")
    [clarification] = door.sql(ACTIVE)["clarifications"]
    assert clarification["suggestions"] == plain
    assert "purple elephants" in clarification["question"]


def test_a_meaning_about_the_database_that_cannot_be_read_is_asked_about(door: Door) -> None:
    door.ask("gold means a happy customer in Oslo")
    answer = door.sql(GOLD)
    assert answer["needs_clarification"]
    assert "a happy customer in Oslo" in answer["clarifications"][0]["question"]
    for choice in answer["clarifications"][0]["choices"]:
        body = {"clarification_id": answer["clarifications"][0]["id"], "choice": choice["id"], "user_id": "john"}
        assert door.post(f"{SALES}/text2sql/clarify", **body)["sql"]


def test_a_fiscal_year_that_the_project_knows_is_used(door: Door, sample: Path) -> None:
    door.post("/api/projects/default/knowledge", fact="Fiscal year ends June 30", category="business_rule")
    told = door.sql("Total sales in fiscal year 2025")
    assert [each["term"] for each in told["assumptions"]] == ["fiscal year"]
    period = "sale_date >= '2024-07-01' AND sale_date < '2025-07-01'"
    assert int(next(iter(told["rows"][0].values()))) == count(sample, f"SELECT SUM(amount) FROM sales WHERE {period}")


def test_an_unknown_fiscal_year_is_asked_about(door: Door) -> None:
    [asked] = door.sql("Total sales this fiscal year")["clarifications"]
    chosen = door.post(f"{SALES}/text2sql/clarify", user_id="john", clarification_id=asked["id"], choice="3")
    assert [(each["term"], each["meaning"]) for each in chosen["learned"]] == [("fiscal year", "starts in July")]
    assert not door.sql("Total sales last fiscal year")["needs_clarification"]
