"""The page that asks a database: answers with rows, SQL and assumptions; feedback is learned, as far as the role
allows; and addresses contain only ids."""

from __future__ import annotations

import asyncio
import base64
import sqlite3
from contextlib import closing
from pathlib import Path

import httpx2
import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Locator, Page, expect

from recollect import connect_sync
from recollect.apps.ask.charts import INK, WIDTH
from recollect.apps.ask.sample import make_sample
from recollect.settings import Settings
from tests.server.http.loopback import Keys, Served, bearer, keys_of_each_role

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
    """Return the expected value from the database itself."""
    with closing(sqlite3.connect(file)) as database:
        found: float = database.execute(sql).fetchone()[0]
        return found


async def ask(page: Page, question: str) -> Locator:
    """Ask a question and return its exchange once it is answered."""
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


async def test_database_is_connected_and_answers_are_explained(console: Served, new_page: NewPage, shop: Path) -> None:
    page = await new_page(console.url)
    await page.goto(ASK)
    await expect(page.get_by_text("recollect sources add")).to_be_visible()
    await page.get_by_label("Name").fill("shop")
    await page.get_by_label("Connection string").fill("sqlite:////nowhere/secret-place.db")
    await page.get_by_role("button", name="Connect").click()
    await expect(page.get_by_role("alert")).to_contain_text("RECOLLECT_SOURCE_FOLDERS")
    await expect(page.get_by_label("Name")).to_have_value("shop")
    await expect(page.get_by_label("Connection string")).to_have_value("")
    await page.get_by_label("Connection string").fill(f"sqlite:///{shop}")
    await page.get_by_role("button", name="Connect").click()
    await expect(page.get_by_role("status").first).to_contain_text("Database connected")
    assert str(shop) not in page.url + await page.content()

    await page.get_by_role("button", name="Total sales by region").click()
    first = page.locator("article.asked:not(.pending)")
    await expect(first.locator("table")).to_contain_text(f"{figure(shop, BEST_REGION):,.2f}")
    await expect(first.locator(".sql-keyword").first).to_have_text("SELECT")
    await expect(first.locator(".meta")).to_contain_text("matched by rules")
    picture = first.get_by_role("img", name="Bar chart: Total sales by Region, 4 values")
    await expect(picture).to_be_visible()
    assert await picture.evaluate("image => image.naturalWidth") == WIDTH
    assert await first.locator("th").all_inner_texts() == ["Region", "Total sales"]

    months = int(figure(shop, "SELECT count(DISTINCT strftime('%Y-%m', sale_date)) FROM sales"))
    month = await ask(page, "by month instead")
    await expect(month.locator(".meta")).to_contain_text("follow-up")
    await expect(month.locator("tbody tr")).to_have_count(months)
    assert "\n" not in await month.locator(".lead-text").inner_text(), "the rows are in the table alone"
    markup = await ask(page, "How many <i>zorgs</i> & <script>alert(1)</script>?")
    await expect(markup.get_by_role("heading", level=2)).to_have_text(
        "How many <i>zorgs</i> & <script>alert(1)</script>?"
    )
    assert await serious(page) == []
    await page.get_by_role("link", name="New topic").click()
    await expect(page.locator("article.asked")).to_have_count(0)
    await page.get_by_role("button", name="by month instead").click()
    await expect(page.locator("article.asked:not(.pending) tbody tr")).to_have_count(months)


async def test_feedback_on_an_answer_is_learned_and_shown(console: Served, new_page: NewPage, shop: Path) -> None:
    add_shop(console, shop)
    page = await new_page(console.url)
    await page.goto(ASK)
    back = await ask(page, ACTIVE)
    await expect(page.locator("#asking-status")).to_contain_text("One question first: ")
    await back.get_by_role("button", name="status open").click()
    known = page.locator("article.asked:not(.pending)").nth(1)
    await expect(known.locator(".notice")).to_contain_text("Saved: active means status open")
    await known.get_by_role("button", name="Undo").click()
    await expect(page.get_by_role("status").first).to_contain_text("Forgotten")
    again = await ask(page, ACTIVE)
    await again.get_by_role("button", name="status open").click()
    await expect(page.locator("article.asked:not(.pending)")).to_have_count(4)
    known = await ask(page, ACTIVE)
    await expect(known.locator(".assumptions")).to_contain_text("active means status open")
    await expect(known.locator(".single-value")).to_have_text(str(figure(shop, OPEN)))
    await expect(back.locator("form")).to_have_count(0)

    await known.get_by_text("Edit SQL").click()
    box = known.get_by_label("Corrected SQL")
    await box.fill((await box.input_value()).replace("'open'", "'paused'"))
    await known.get_by_role("button", name="Save correction").click()
    await expect(known.locator(".feedback .changes")).to_contain_text("Filter changed for active")
    await known.locator(".feedback").get_by_role("button", name=ACTIVE).click()
    put_right = page.locator("article.asked:not(.pending)").nth(5)
    await expect(put_right.locator(".meta")).to_contain_text("known answer")
    await put_right.get_by_role("button", name="Wrong").click()
    await expect(put_right.locator(".feedback")).to_contain_text("Marked as wrong")
    await put_right.get_by_text("Edit SQL").click()
    await put_right.get_by_label("Corrected SQL").fill("DELETE FROM customers")
    await put_right.get_by_role("button", name="Save correction").click()
    await expect(put_right.get_by_role("alert")).to_be_visible()

    await known.locator(".assumptions").get_by_role("link", name="your definition").click()
    await expect(page.get_by_role("main")).to_contain_text("status = 'paused'")


async def test_session_is_shown_from_the_log_without_queries(console: Served, new_page: NewPage, shop: Path) -> None:
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
    await expect(picture).to_have_js_property("naturalWidth", WIDTH)
    assert await is_narrow(page)
    assert await serious(page) == []
    failed = await ask(page, "total sales by region for 2023")
    await expect(failed.get_by_role("alert")).to_contain_text("The database could not run this query")


async def test_chart_suits_a_dark_page(console: Served, new_page: NewPage, shop: Path) -> None:
    add_shop(console, shop)
    page = await new_page(console.url, color_scheme="dark")
    await page.goto(ASK)
    await ask(page, "total sales by region for 2024")
    picture = page.get_by_role("img", name="Bar chart")
    await expect(picture).to_have_js_property("naturalWidth", WIDTH)
    new = base64.b64decode((await picture.evaluate("image => image.currentSrc")).partition(",")[2]).decode()
    await page.reload()
    await picture.scroll_into_view_if_needed()
    await expect(picture).to_have_js_property("naturalWidth", WIDTH)
    logged = await (await page.request.get(await picture.evaluate("image => image.currentSrc"))).text()
    assert all(f'fill="{INK["dark"][0]}"' in svg for svg in (new, logged))
    assert await serious(page) == []


async def test_page_names_the_extra_that_charts_need(
    console: Served, new_page: NewPage, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recollect.apps.ask.charts.can_draw", lambda: False)
    add_shop(console, shop)
    page = await new_page(console.url)
    await page.goto(ASK)
    answer = await ask(page, "total sales by region for 2024")
    await expect(answer.locator(".result .note")).to_contain_text("pip install 'recollect[charts]'")
    await expect(answer.get_by_role("img")).to_have_count(0)
    await expect(answer.locator("tbody tr")).to_have_count(4)


async def test_rows_are_counted_and_downloaded(console: Served, new_page: NewPage, shop: Path) -> None:
    with closing(sqlite3.connect(shop)) as database, database:
        database.execute("UPDATE customers SET name = '=1+1' WHERE id = 7")
    add_shop(console, shop)
    page = await new_page(console.url)
    await page.goto(ASK)
    answer = await ask(page, "Show me customer data")
    count = int(figure(shop, "SELECT count(*) FROM customers"))
    await expect(answer.locator(".rows p")).to_contain_text(f"100 of {count} rows")
    await page.reload()
    kept = page.locator("article.asked")
    await expect(kept.locator(".rows p")).to_contain_text(f"of {count} rows")
    async with page.expect_download() as download:
        await kept.get_by_role("link", name="Download CSV").click()
    file = await (await download.value).path()
    lines = (await asyncio.to_thread(file.read_text, "utf-8-sig")).splitlines()
    assert len(lines) == count + 1
    assert not any(line.startswith("=") for line in lines)
    assert any("'=1+1" in line for line in lines)


async def test_question_and_clarification_without_scripts(console: Served, new_page: NewPage, shop: Path) -> None:
    add_shop(console, shop)
    page = await new_page(console.url, java_script_enabled=False)
    await page.goto(ASK)
    back = await ask(page, ACTIVE)
    await back.get_by_label("Or describe it").fill("status = 'open'")
    await back.get_by_role("button", name="Save and ask again").click()
    await expect(page.get_by_text("Saved.", exact=True)).to_be_visible()
    known = page.locator("article.asked").last
    await expect(known.locator(".single-value")).to_have_text(str(figure(shop, OPEN)))
    await known.get_by_role("button", name="Right").click()
    await expect(page.get_by_role("heading", name="What was learned")).to_be_visible()
    await page.get_by_role("link", name="Back to the conversation").click()
    await expect(page.locator(".recent")).to_contain_text("right")


async def test_recent_question_answered_by_a_choice_is_answered_alike(
    console: Served, new_page: NewPage, shop: Path
) -> None:
    add_shop(console, shop)
    page = await new_page(console.url)
    await page.goto(ASK)
    back = await ask(page, "How many splendid customers are there?")
    await back.locator(".open .chips button", has_text="without").last.click()
    chosen = page.locator("article.asked:not(.pending) .single-value")
    await expect(chosen).to_have_count(1)
    value = await chosen.inner_text()

    await page.goto(ASK)
    await page.locator(".recent button").first.click()
    await expect(page.locator("article.asked:not(.pending) .single-value")).to_have_text(value)


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


async def test_user_sees_only_what_their_role_may_see(console: Served, new_page: NewPage, keys: Keys) -> None:
    page = await new_page(console.url)
    await sign_in(page, keys.user)
    answer = await ask(page, "How many customers are there?")
    await expect(answer.get_by_role("button", name="Right")).to_be_visible()
    await expect(page.get_by_text("as an example")).to_have_count(0)
    await expect(page.get_by_text("Connect a database")).to_have_count(0)
    rules = {"access": {"user": {"tables": ["products"]}}}
    where = f"{console.url}/api/projects/shop/datasources/shop/access"
    httpx2.put(where, json=rules, headers=bearer(keys.admin), timeout=60).raise_for_status()
    session = await page.locator("article.asked").get_attribute("data-session")
    file = await page.request.get("/console/ask/csv", params={"session": session or "", "turn": "1"})
    assert file.status == 404
    await page.reload()
    await expect(page.locator("article.asked")).to_contain_text("no longer have access to the tables")
    await expect(page.locator("article.asked .single-value")).to_have_count(0)


async def test_data_key_approves_examples(console: Served, new_page: NewPage, keys: Keys) -> None:
    page = await new_page(console.url, java_script_enabled=False)
    await sign_in(page, keys.data)
    answer = await ask(page, "How many customers are there?")
    await expect(answer.get_by_role("button", name="Right")).to_have_count(0)
    await answer.get_by_text("Approve as an example").click()
    await answer.get_by_role("button", name="Approve").click()
    await expect(page.get_by_role("status")).to_contain_text("for everyone in the project")
    await page.get_by_role("link", name="Back to the conversation").click()
    again = await ask(page, "How many customers are there?")
    await expect(again.locator(".meta")).to_contain_text("known answer")
