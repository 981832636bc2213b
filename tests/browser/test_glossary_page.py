"""The glossary page: looking up, adding, changing, removing and importing terms; approving proposals; on a phone,
without scripts, and with keys that have fewer permissions."""

from __future__ import annotations

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import FilePayload, Locator, Page, expect

from recollect import Lesson, Scope, SyncEngine, connect_sync
from recollect.settings import Settings
from tests.server.http.loopback import Served, keys_of_each_role

from .chromium import PHONE
from .conftest import NewPage

ME = Scope("me")
WORDS = {
    "tables": {"orders": {"description": "One row per order.", "columns": {"total": {"type": "numeric"}}}},
    "glossary": {"active": {"definition": "has ordered this year", "base_table": "customers", "aliases": ["live"]}},
}


def add_definitions(memory: SyncEngine, scope: Scope) -> None:
    memory.terms.load(scope, WORDS)
    memory.learn(scope, Lesson("logged in within 90 days", "active", "definition", owner="project"))
    memory.learn(scope, Lesson("ends in March", "fiscal year", "definition", owner="project", pending=True))
    memory.learn(scope, Lesson("logged in within 30 days", "active", "definition", owner="user"))


@pytest.fixture
def defined(console: Served, settings: Settings) -> Served:
    """The server, with definitions in every tier."""
    with connect_sync(settings, worker=False) as memory:
        add_definitions(memory, ME)
    return console


def find_term(page: Page, name: str) -> Locator:
    return page.locator(".term", has=page.locator(".what b", has_text=name))


async def open_menu(page: Page, name: str, button: str) -> Locator:
    await find_term(page, name).locator("summary", has_text=button).click()
    return find_term(page, name)


async def add(page: Page, name: str, definition: str) -> None:
    form = page.get_by_role("region", name="Add a term")
    await form.get_by_label("Name", exact=True).fill(name)
    await form.get_by_label("Definition").fill(definition)
    await form.get_by_role("button", name="Add term").click()


async def sign_in(page: Page, secret: str) -> None:
    await page.goto("/console/sign-in?after=terms")
    await page.get_by_label("API key").fill(secret)
    await page.get_by_role("button", name="Sign in").click()


async def test_term_lookup_shows_tiers_and_approval_works(defined: Served, new_page: NewPage) -> None:
    page = await new_page(defined.url, PHONE)
    await page.goto("/console/terms")
    await page.get_by_label("Term (for user me)").fill("active")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("status")).to_contain_text("logged in within 30 days")
    said = ("session", "No definition"), ("user", "30 days"), ("project", "90 days"), ("ontology", "ordered this year")
    for place, (tier, meaning) in enumerate(said):
        await expect(page.locator(".tiers li").nth(place)).to_contain_text(tier)
        await expect(page.locator(".tiers li").nth(place)).to_contain_text(meaning)
    await expect(page.locator(".tiers .used")).to_contain_text("30 days")
    assert await page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    found = await Axe().run(page)
    assert [each["id"] for each in found.response["violations"] if each["impact"] in ("serious", "critical")] == []

    await page.get_by_role("button", name="Approve").click()
    await expect(page.get_by_role("heading", name="Pending approval")).to_have_count(0)
    await page.get_by_label("Term (for user me)").fill("fiscal year")
    await page.keyboard.press("Enter")
    await expect(page.locator(".answer")).to_contain_text("ends in March")


async def test_terms_are_changed_removed_and_imported(defined: Served, new_page: NewPage) -> None:
    page = await new_page(defined.url)
    await page.goto("/console/terms?q=active")
    active = await open_menu(page, "active", "Edit")
    await active.get_by_label("Definition").fill("has ordered this month")
    await active.get_by_label("Synonyms").fill("live\nwarm, or hot")
    await active.get_by_role("button", name="Save").click()
    await expect(find_term(page, "active")).to_contain_text("has ordered this month")
    await expect(find_term(page, "active").locator(".kind")).to_have_text(["glossary", "live", "warm, or hot"])
    await expect(find_term(page, "active")).to_contain_text("Table: customers")

    await page.goto("/console/terms?kind=table")
    await (await open_menu(page, "orders", "Remove")).get_by_role("button", name="Remove from glossary").click()
    await page.goto("/console/terms?q=orders")
    await expect(page.get_by_role("heading", name="Nothing found")).to_be_visible()

    await page.goto("/console/terms")
    await page.get_by_label("Or paste its text").fill("glossary: [")
    await page.get_by_role("button", name="Import").click()
    await expect(page.locator("#imported").get_by_role("alert")).to_be_visible()
    words = b"glossary: {churn: customers who left, active: has ordered this month}"
    file = FilePayload(name="words.yaml", mimeType="text/yaml", buffer=words)
    await page.get_by_label("YAML or JSON file").set_input_files(file)
    await page.get_by_role("button", name="Import").click()
    await expect(page.locator("#imported")).to_contain_text("1 added, 1 changed, 0 removed, 0 unchanged")


async def test_duplicate_term_is_refused_without_scripts(console: Served, new_page: NewPage) -> None:
    page = await new_page(console.url, java_script_enabled=False)
    await page.goto("/console/terms")
    await expect(page.get_by_role("heading", name="No terms yet")).to_be_visible()
    await add(page, "churn", "customers who left")
    await expect(find_term(page, "churn")).to_contain_text("customers who left")
    await add(page, "churn", "something else")
    await expect(page.get_by_role("alert")).to_contain_text("'churn' already exists")
    await expect(page.get_by_role("region", name="Add a term").get_by_label("Definition")).to_have_value(
        "something else"
    )
    await page.get_by_role("link", name="Glossary").click()
    await expect(find_term(page, "churn")).to_contain_text("customers who left")


async def test_user_key_reads_and_data_key_edits_the_glossary(
    console: Served, new_page: NewPage, settings: Settings
) -> None:
    shop = Scope("alex", project="shop")
    with connect_sync(settings, worker=False) as memory:
        add_definitions(memory, shop)
        keys = keys_of_each_role(memory)
    reader = await new_page(console.url)
    await sign_in(reader, keys.user)
    await expect(find_term(reader, "active")).to_be_visible()
    for name in ("Edit", "Remove", "Approve", "Add term", "Import"):
        await expect(reader.get_by_text(name, exact=True)).to_have_count(0)
    await reader.locator("form[action$='sign-out']").evaluate(
        "form => { form.action = '/console/terms/drop'; form.insertAdjacentHTML('beforeend',"
        " `<input name=name value=active><input name=kind value=glossary>`); form.submit() }"
    )
    await expect(reader.get_by_role("alert")).to_contain_text("drop_term takes the role data or admin")

    keeper = await new_page(console.url)
    await sign_in(keeper, keys.data)
    await expect(keeper.get_by_role("heading", name="Look up a term")).to_have_count(0)
    await add(keeper, "churn", "customers who left")
    await expect(find_term(keeper, "churn")).to_be_visible()
    await keeper.get_by_role("link", name="History").click()
    await keeper.locator("summary", has_text="Forget").click()
    await keeper.get_by_role("button", name="Forget memory").click()
    await expect(keeper.get_by_role("status")).to_have_text("Forgotten.")
    await expect(keeper.get_by_role("heading", name="Pending approval")).to_have_count(0)
    with connect_sync(settings, worker=False) as memory:
        assert "words" in {event.actor for event in memory.audit(shop, owner="project")}
