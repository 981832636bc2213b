"""The room where a database is asked: what is asked in words is answered with rows, SQL and what was assumed; what
people say about an answer is learned, as far as their role goes; and no address shows more than ids."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import httpx2
import pytest
from axe_playwright_python.async_playwright import Axe
from doors.http.loopback import Keys, Served, bearer, keys_of_each_role
from playwright.async_api import Locator, Page, expect

from recollect import connect_sync
from recollect.hosts.sql.sample import make_sample
from recollect.settings import Settings

from .chromium import PHONE
from .conftest import NewPage

ASK = "/console/ask"
ACTIVE = "How many active customers are there?"
OPEN = "SELECT count(*) FROM customers WHERE status = 'open'"
BEST_REGION = "SELECT sum(amount) FROM sales GROUP BY region_id ORDER BY 1 DESC"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    make_sample(tmp_path / "shop.db")
    return tmp_path / "shop.db"


def add_shop(console: Served, file: Path, project: str = "default", key: str = "") -> None:
    body = {"name": "shop", "dsn": f"sqlite:///{file}"}
    headers = bearer(key) if key else {}
    where = f"{console.url}/api/projects/{project}/datasources"
    httpx2.post(where, json=body, headers=headers, timeout=60).raise_for_status()


def figure(file: Path, sql: str) -> float:
    """What the database itself says."""
    with closing(sqlite3.connect(file)) as database:
        found: float = database.execute(sql).fetchone()[0]
        return found


async def ask(page: Page, question: str) -> Locator:
    """The exchange, once it is answered."""
    answered = page.locator("article.asked:not(.pending)")
    there = await answered.count()
    await page.get_by_label("Question", exact=True).fill(question)
    await page.get_by_role("button", name="Ask", exact=True).click()
    await expect(answered).to_have_count(there + 1)
    return answered.nth(there)


async def is_narrow(page: Page) -> bool:
    told: bool = await page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    return told


async def serious(page: Page) -> list[str]:
    found = (await Axe().run(page)).response["violations"]
    return [each["id"] for each in found if each["impact"] in ("serious", "critical")]


async def test_a_database_is_added_and_its_answers_say_how_they_came_about(
    console: Served, new_page: NewPage, shop: Path
) -> None:
    page = await new_page(console.url)
    await page.goto(ASK)
    await expect(page.get_by_text("recollect sources add")).to_be_visible()
    await page.get_by_label("Name").fill("shop")
    await page.get_by_label("Address").fill("sqlite:////nowhere/secret-place.db")
    await page.get_by_role("button", name="Open and read it").click()
    await expect(page.get_by_role("alert")).to_contain_text("there is no file")
    await expect(page.get_by_label("Name")).to_have_value("shop")
    await expect(page.get_by_label("Address")).to_have_value("")
    await page.get_by_label("Address").fill(f"sqlite:///{shop}")
    await page.get_by_role("button", name="Open and read it").click()
    await expect(page.get_by_role("status").first).to_contain_text("opened and read")
    assert str(shop) not in page.url + await page.content()

    await page.get_by_role("button", name="Total amount by region").click()
    first = page.locator("article.asked:not(.pending)")
    await expect(first.locator("td.number").first).to_have_text(f"{figure(shop, BEST_REGION):,.2f}")
    await expect(first.locator(".sql-keyword").first).to_have_text("SELECT")
    await expect(first.locator(".meta")).to_contain_text("read by rules")
    picture = first.get_by_role("img", name="Bar chart: sum_amount by name, 4 values")
    await expect(picture).to_be_visible()
    assert await picture.evaluate("image => image.naturalWidth") == 800

    month = await ask(page, "by month instead")
    await expect(month.locator(".meta")).to_contain_text("follow-up")
    await expect(month.locator("tbody tr")).to_have_count(48)
    markup = await ask(page, "How many <i>zorgs</i> & <script>alert(1)</script>?")
    await expect(markup.get_by_role("heading", level=2)).to_have_text(
        "How many <i>zorgs</i> & <script>alert(1)</script>?"
    )
    assert await serious(page) == []
    await page.get_by_role("link", name="New topic").click()
    await expect(page.locator("article.asked")).to_have_count(0)
    await page.get_by_role("button", name="by month instead").click()
    await expect(page.locator("article.asked:not(.pending) tbody tr")).to_have_count(48)


async def test_what_people_say_about_an_answer_is_learned_and_shown(
    console: Served, new_page: NewPage, shop: Path
) -> None:
    add_shop(console, shop)
    page = await new_page(console.url)
    await page.goto(ASK)
    back = await ask(page, ACTIVE)
    await back.get_by_role("button", name="status = open").click()
    known = page.locator("article.asked:not(.pending)").nth(1)
    await expect(known.locator(".told")).to_contain_text("Learned: active means status = open")
    await expect(known.locator(".assumed")).to_contain_text("active means status = open")
    await expect(known.locator(".figure")).to_have_text(str(figure(shop, OPEN)))
    await expect(back.locator("form")).to_have_count(0)

    await known.get_by_text("Correct this SQL").click()
    box = known.get_by_label("The right statement")
    await box.fill((await box.input_value()).replace("'open'", "'paused'"))
    await known.get_by_role("button", name="Learn from it").click()
    await expect(known.locator(".taught .changes")).to_contain_text("another condition for active")
    await known.locator(".taught").get_by_role("button", name=ACTIVE).click()
    put_right = page.locator("article.asked:not(.pending)").nth(2)
    await expect(put_right.locator(".meta")).to_contain_text("known answer")
    await put_right.get_by_role("button", name="This was wrong").click()
    await expect(put_right.locator(".taught")).to_contain_text("Noted as wrong")
    await put_right.get_by_text("Correct this SQL").click()
    await put_right.get_by_label("The right statement").fill("DELETE FROM customers")
    await put_right.get_by_role("button", name="Learn from it").click()
    await expect(put_right.get_by_role("alert")).to_be_visible()

    await known.locator(".assumed").get_by_role("link", name="memory").click()
    assert "/console/memory/one?id=" in page.url


async def test_a_session_is_shown_from_the_log_and_nothing_is_run_for_it(
    console: Served, new_page: NewPage, shop: Path
) -> None:
    add_shop(console, shop)
    page = await new_page(console.url, PHONE)
    await page.goto(ASK)
    await ask(page, "total sales by region for 2024")
    assert await is_narrow(page)
    with closing(sqlite3.connect(shop)) as database:
        database.execute("ALTER TABLE sales RENAME TO gone")
    await page.reload()
    kept = page.locator("article.asked")
    await expect(kept.locator("tbody tr")).to_have_count(4)
    picture = kept.get_by_role("img", name="Bar chart")
    await picture.scroll_into_view_if_needed()
    await expect(picture).to_have_js_property("naturalWidth", 800)
    assert await is_narrow(page)
    assert await serious(page) == []
    await kept.get_by_role("button", name="Run it again").click()
    await expect(kept.get_by_role("alert")).to_contain_text("sales")
    failed = await ask(page, "total sales by region for 2023")
    await expect(failed.get_by_role("alert")).to_contain_text("The database could not run this query")


async def test_without_scripts_a_question_is_asked_and_a_word_taught(
    console: Served, new_page: NewPage, shop: Path
) -> None:
    add_shop(console, shop)
    page = await new_page(console.url, java_script_enabled=False)
    await page.goto(ASK)
    back = await ask(page, ACTIVE)
    await back.get_by_label("Or in your own words").fill("status = 'open'")
    await back.get_by_role("button", name="Teach it and ask again").click()
    await expect(page.get_by_text("Learned.", exact=True)).to_be_visible()
    known = page.locator("article.asked").last
    await expect(known.locator(".figure")).to_have_text(str(figure(shop, OPEN)))
    await known.get_by_role("button", name="This was right").click()
    await expect(page.get_by_role("heading", name="What was learned")).to_be_visible()
    await page.get_by_role("link", name="Back to the conversation").click()
    await expect(page.locator(".before")).to_contain_text("right")


@pytest.fixture
def keys(console: Served, settings: Settings, shop: Path) -> Keys:
    with connect_sync(settings, worker=False) as memory:
        made = keys_of_each_role(memory)
    add_shop(console, shop, "shop", made.admin)
    return made


async def sign_in(page: Page, secret: str) -> None:
    await page.goto("/console/sign-in?after=ask")
    await page.get_by_label("Key").fill(secret)
    await page.get_by_role("button", name="Sign in").click()


async def test_a_user_asks_and_teaches_for_himself_and_sees_only_what_his_role_may(
    console: Served, new_page: NewPage, keys: Keys
) -> None:
    page = await new_page(console.url)
    await sign_in(page, keys.user)
    answer = await ask(page, "How many customers are there?")
    await expect(answer.get_by_role("button", name="This was right")).to_be_visible()
    await expect(page.get_by_text("as an example")).to_have_count(0)
    await expect(page.get_by_text("Add a database")).to_have_count(0)
    rules = {"access": {"user": {"tables": ["products"]}}}
    where = f"{console.url}/api/projects/shop/datasources/shop/access"
    httpx2.put(where, json=rules, headers=bearer(keys.admin), timeout=60).raise_for_status()
    await page.reload()
    await expect(page.locator("article.asked")).to_contain_text("tables that you may not see now")
    await expect(page.locator("article.asked .figure")).to_have_count(0)


async def test_whoever_keeps_the_words_approves_examples_and_speaks_for_no_user(
    console: Served, new_page: NewPage, keys: Keys
) -> None:
    page = await new_page(console.url, java_script_enabled=False)
    await sign_in(page, keys.data)
    answer = await ask(page, "How many customers are there?")
    await expect(answer.get_by_role("button", name="This was right")).to_have_count(0)
    await answer.get_by_text("Approve as an example").click()
    await answer.get_by_role("button", name="Approve it").click()
    await expect(page.get_by_role("status")).to_contain_text("for everybody in the project")
    await page.get_by_role("link", name="Back to the conversation").click()
    again = await ask(page, "How many customers are there?")
    await expect(again.locator(".meta")).to_contain_text("known answer")
