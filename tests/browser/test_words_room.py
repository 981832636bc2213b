"""The words room in a browser: what a word means and who says so; adding, changing, removing and bringing in words;
what waits for approval; on a phone, without scripts, and with keys that may less."""

from __future__ import annotations

import pytest
from axe_playwright_python.async_playwright import Axe
from doors.http.loopback import Served, keys_of_each_role
from playwright.async_api import FilePayload, Locator, Page, expect

from recollect import Lesson, Scope, SyncEngine, connect_sync
from recollect.settings import Settings

from .chromium import PHONE
from .conftest import NewPage

ME = Scope("me")
WORDS = {
    "tables": {"orders": {"description": "One row per order.", "columns": {"total": {"type": "numeric"}}}},
    "glossary": {"active": {"definition": "has ordered this year", "base_table": "customers", "aliases": ["live"]}},
}


def fill(memory: SyncEngine, scope: Scope) -> None:
    memory.import_ontology(scope, WORDS)
    memory.learn(scope, Lesson("logged in within 90 days", "active", "definition", owner="project"))
    memory.learn(scope, Lesson("ends in March", "fiscal year", "definition", owner="project", pending=True))
    memory.learn(scope, Lesson("logged in within 30 days", "active", "definition", owner="user"))


@pytest.fixture
def defined(console: Served, settings: Settings) -> Served:
    """The server, with words of every tier."""
    with connect_sync(settings, worker=False) as memory:
        fill(memory, ME)
    return console


def term(page: Page, name: str) -> Locator:
    return page.locator(".term", has=page.locator(".what b", has_text=name))


async def opened(page: Page, name: str, button: str) -> Locator:
    await term(page, name).locator("summary", has_text=button).click()
    return term(page, name)


async def add(page: Page, name: str, definition: str) -> None:
    form = page.get_by_role("region", name="Add a word")
    await form.get_by_label("Name", exact=True).fill(name)
    await form.get_by_label("Definition").fill(definition)
    await form.get_by_role("button", name="Add it").click()


async def signed_in(page: Page, secret: str) -> None:
    await page.goto("/console/sign-in?after=terms")
    await page.get_by_label("API key").fill(secret)
    await page.get_by_role("button", name="Sign in").click()


async def test_a_word_is_looked_up_through_all_tiers_and_a_proposal_is_approved(
    defined: Served, new_page: NewPage
) -> None:
    page = await new_page(defined.url, PHONE)
    await page.goto("/console/terms")
    await page.get_by_label("A word, to me").fill("active")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("status")).to_contain_text("logged in within 30 days")
    said = ("session", "says nothing"), ("user", "30 days"), ("project", "90 days"), ("ontology", "ordered this year")
    for place, (tier, meaning) in enumerate(said):
        await expect(page.locator(".tiers li").nth(place)).to_contain_text(tier)
        await expect(page.locator(".tiers li").nth(place)).to_contain_text(meaning)
    await expect(page.locator(".tiers .answers")).to_contain_text("this one answers")
    assert await page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    found = await Axe().run(page)
    assert [each["id"] for each in found.response["violations"] if each["impact"] in ("serious", "critical")] == []

    await page.get_by_role("button", name="Approve").click()
    await expect(page.get_by_role("heading", name="Waiting for approval")).to_have_count(0)
    await page.get_by_label("A word, to me").fill("fiscal year")
    await page.keyboard.press("Enter")
    await expect(page.locator(".answer")).to_contain_text("ends in March")


async def test_words_are_changed_removed_and_brought_in_with_a_report(defined: Served, new_page: NewPage) -> None:
    page = await new_page(defined.url)
    await page.goto("/console/terms?q=active")
    active = await opened(page, "active", "Change")
    await active.get_by_label("Definition").fill("has ordered this month")
    await active.get_by_label("Other names").fill("live\nwarm, or hot")
    await active.get_by_role("button", name="Save").click()
    await expect(term(page, "active")).to_contain_text("has ordered this month")
    await expect(term(page, "active").locator(".kind")).to_have_text(["glossary", "live", "warm, or hot"])
    await expect(term(page, "active")).to_contain_text("about the table customers")

    await page.goto("/console/terms?kind=table")
    await (await opened(page, "orders", "Remove")).get_by_role("button", name="Remove it").click()
    await page.goto("/console/terms?q=orders")
    await expect(page.get_by_role("heading", name="Nothing found")).to_be_visible()

    await page.goto("/console/terms")
    await page.get_by_label("or its text").fill("glossary: [")
    await page.get_by_role("button", name="Bring it in").click()
    await expect(page.locator("#imported").get_by_role("alert")).to_be_visible()
    words = b"glossary: {churn: customers who left, active: has ordered this month}"
    file = FilePayload(name="words.yaml", mimeType="text/yaml", buffer=words)
    await page.get_by_label("YAML or JSON file").set_input_files(file)
    await page.get_by_role("button", name="Bring it in").click()
    await expect(page.locator("#imported")).to_contain_text("1 added, 1 changed, 0 removed, 0 as they were")


async def test_without_scripts_a_word_is_added_once_and_what_was_typed_is_kept(
    console: Served, new_page: NewPage
) -> None:
    page = await new_page(console.url, java_script_enabled=False)
    await page.goto("/console/terms")
    await expect(page.get_by_role("heading", name="No words yet")).to_be_visible()
    await add(page, "churn", "customers who left")
    await expect(term(page, "churn")).to_contain_text("customers who left")
    await add(page, "churn", "something else")
    await expect(page.get_by_role("alert")).to_contain_text("'churn' is there already")
    await expect(page.get_by_role("region", name="Add a word").get_by_label("Definition")).to_have_value(
        "something else"
    )
    await page.get_by_role("link", name="Words").click()
    await expect(term(page, "churn")).to_contain_text("customers who left")


async def test_a_users_key_reads_the_words_and_a_data_key_keeps_them_under_its_own_name(
    console: Served, new_page: NewPage, settings: Settings
) -> None:
    shop = Scope("alex", project="shop")
    with connect_sync(settings, worker=False) as memory:
        fill(memory, shop)
        keys = keys_of_each_role(memory)
    reader = await new_page(console.url)
    await signed_in(reader, keys.user)
    await expect(term(reader, "active")).to_be_visible()
    for name in ("Change", "Remove", "Approve", "Add it", "Bring it in"):
        await expect(reader.get_by_text(name, exact=True)).to_have_count(0)
    await reader.locator("form[action$='sign-out']").evaluate(
        "form => { form.action = '/console/terms/drop'; form.insertAdjacentHTML('beforeend',"
        " `<input name=name value=active><input name=kind value=glossary>`); form.submit() }"
    )
    await expect(reader.get_by_role("alert")).to_contain_text("drop_term takes the role data or admin")

    keeper = await new_page(console.url)
    await signed_in(keeper, keys.data)
    await expect(keeper.get_by_role("heading", name="What does … mean here?")).to_have_count(0)
    await add(keeper, "churn", "customers who left")
    await expect(term(keeper, "churn")).to_be_visible()
    await keeper.get_by_role("link", name="History").click()
    await keeper.locator("summary", has_text="Forget it").click()
    await keeper.get_by_role("button", name="Forget it").click()
    await expect(keeper.get_by_role("status")).to_have_text("Forgotten.")
    await expect(keeper.get_by_role("heading", name="Waiting for approval")).to_have_count(0)
    with connect_sync(settings, worker=False) as memory:
        assert "words" in {deed.actor for deed in memory.audit(shop, owner="project")}
