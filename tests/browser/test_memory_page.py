"""The memory page: the list, the history of a memory, adding and correcting, the recall test; with the keyboard alone,
on a phone, without scripts, and with a key that has fewer permissions."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Locator, Page, expect

from recollect import Lesson, Scope, connect_sync
from recollect.learning.extract import extract
from recollect.learning.rules import rulebooks
from recollect.server.console.render import load_templates, redirect_back
from recollect.settings import Settings
from recollect.values.conversation import TurnLike
from tests.server.http.loopback import Served, keys_of_each_role

from .chromium import PHONE
from .conftest import NewPage

SAM = Scope("me", session="monday")
SAID: list[TurnLike] = [
    ("user", "Call me Sam. I live in Porto."),
    ("assistant", "Hello Sam."),
    ("user", "I used to work at Siemens. Remind me to call the bank."),
    ("assistant", "I will."),
]
PAGES = ("memory", "memory?status=all", "memory/search?q=where do I live&session=monday", "memory/episodes")


@pytest.fixture
def known(console: Served, settings: Settings) -> Served:
    """The server, with messages from Sam."""
    record_messages(settings, SAM)
    return console


def read_reasons() -> dict[str, str]:
    """Return what the page says about each reason for not remembering something."""
    module: Any = load_templates().get_template("words.html").module
    reasons: dict[str, str] = module.REJECTIONS
    return reasons


def record_messages(settings: Settings, scope: Scope) -> None:
    with connect_sync(settings, worker=False) as memory:
        memory.record(scope, SAID)
        memory.settle(scope)


def read_messages(settings: Settings) -> list[str]:
    with connect_sync(settings, worker=False) as memory:
        return [turn.text for turn in memory.history(SAM)]


def score_of_kind(settings: Settings, question: str) -> float:
    with connect_sync(settings, worker=False) as memory:
        return memory.recall(SAM, question).hits[0].parts["kind"]


def find_card(page: Page, key: str) -> Locator:
    return page.locator(".memory", has=page.locator(".what b", has_text=key))


async def press_tab_until(page: Page, wanted: Locator) -> None:
    """Press Tab until the element has the focus."""
    element = await wanted.element_handle()
    for _ in range(80):
        await page.keyboard.press("Tab")
        if await page.evaluate("element => document.activeElement === element", element):
            return
    raise AssertionError("the keyboard does not reach it")


async def find_violations(page: Page) -> list[str]:
    found = await Axe().run(page)
    return [each["id"] for each in found.response["violations"] if each["impact"] in ("serious", "critical")]


async def is_too_wide(page: Page) -> bool:
    return bool(await page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))


async def sign_in(page: Page, secret: str) -> None:
    await page.goto("/console/sign-in?after=memory")
    await page.get_by_label("API key").fill(secret)
    await page.get_by_role("button", name="Sign in").click()


async def test_memory_is_corrected_by_keyboard(known: Served, new_page: NewPage) -> None:
    page = await new_page(known.url)
    await page.goto("/console/memory")
    location = find_card(page, "location")
    await press_tab_until(page, location.locator("summary", has_text="Correct"))
    await page.keyboard.press("Enter")
    await press_tab_until(page, location.get_by_label("Correct value"))
    await page.keyboard.press("Control+A")
    await page.keyboard.type("Lisbon")
    await press_tab_until(page, location.get_by_role("button", name="Save correction"))
    await page.keyboard.press("Enter")

    await expect(page.get_by_role("status")).to_contain_text("Corrected")
    await expect(find_card(page, "location").locator(".value")).to_have_text("Lisbon")
    await press_tab_until(page, find_card(page, "location").get_by_role("link", name="History"))
    await page.keyboard.press("Enter")
    await expect(page.locator(".history .value")).to_have_text(["Lisbon", "Porto"])
    await expect(page.locator(".history li").nth(1)).to_contain_text("Why it ended: corrected by the user")
    assert await find_violations(page) == []
    await page.locator(".history").get_by_role("link", name="monday#0").click()
    await expect(page.locator("#turn-0")).to_contain_text("I live in Porto")


async def test_message_is_marked_and_value_redacted(known: Served, new_page: NewPage, settings: Settings) -> None:
    page = await new_page(known.url)
    await page.goto("/console/memory")
    await find_card(page, "todo").get_by_role("button", name="Done").click()
    await expect(find_card(page, "todo")).to_have_count(0)
    await page.goto("/console/memory?status=ended&kind=todo")
    await expect(find_card(page, "todo")).to_contain_text("(done)")
    await page.goto("/console/memory")
    await find_card(page, "location").get_by_role("link", name="History").click()
    before = score_of_kind(settings, "Porto")
    await page.get_by_role("button", name="Mark as important").click()
    await expect(page.get_by_role("status")).to_have_text("Marked as important.")
    assert score_of_kind(settings, "Porto") > before
    await page.locator("summary", has_text="Redact").click()
    await page.get_by_role("button", name="Redact everywhere").click()
    await expect(page.get_by_role("status")).to_contain_text("Redacted")
    assert read_messages(settings)[0] == "Call me Sam. I live in [redacted]."


async def test_memory_is_added_and_forgotten_without_scripts(console: Served, new_page: NewPage) -> None:
    page = await new_page(console.url, java_script_enabled=False)
    await page.goto("/console/memory")
    await page.get_by_label("Kind").select_option("identity")
    await page.get_by_label("Topic").fill("location")
    await page.get_by_label("What to remember").fill("Porto")
    await page.get_by_role("button", name="Add memory").click()
    await expect(page.get_by_role("status")).to_have_text("Saved.")
    await expect(page.locator(".filters")).to_contain_text("Profile 1")
    await expect(find_card(page, "location")).to_contain_text("Added manually")
    await find_card(page, "location").locator("summary", has_text="Forget").click()
    await find_card(page, "location").get_by_role("button", name="Forget memory").click()
    await expect(page.get_by_role("heading", name="No memories yet")).to_be_visible()


async def test_recall_test_shows_sources_and_stores_nothing(
    known: Served, new_page: NewPage, settings: Settings
) -> None:
    page = await new_page(known.url)
    await page.goto("/console/memory")
    await page.get_by_role("textbox", name="Question").fill("Where do I live?")
    await page.get_by_role("button", name="Test").click()
    await expect(page.get_by_role("region", name="Memories")).to_contain_text("location: Porto")
    await expect(page.locator(".lines").last).to_contain_text("monday#0")
    await expect(page.locator(".hit").first).to_contain_text(re.compile(r"score \d\.\d\d = "))
    await page.get_by_label("Token budget").fill("30")
    await page.get_by_role("button", name="Test").click()
    await expect(page.get_by_role("heading", name="Omitted")).to_be_visible()
    assert await find_violations(page) == []
    assert read_messages(settings) == [said[1] for said in SAID if isinstance(said, tuple)]


async def test_long_list_is_paged_within_its_filters(console: Served, new_page: NewPage, settings: Settings) -> None:
    with connect_sync(settings, worker=False) as memory:
        memory.learn(SAM, [Lesson(f"to do {n}", f"task {n}", "todo") for n in range(50)])
        memory.learn(SAM, Lesson("Porto", "location", "identity"))
        memory.close(SAM, memory.memories(SAM, key="task 0")[0].id)
    page = await new_page(console.url)
    await page.goto("/console/memory?kind=todo")
    await expect(page.get_by_role("navigation", name="Kinds")).to_contain_text("To-dos 49")
    await expect(page.locator(".memory")).to_have_count(25)
    await page.get_by_role("link", name="Show more").click()
    await expect(page.locator(".memory")).to_have_count(24)
    await expect(page.get_by_role("link", name="Show more")).to_have_count(0)
    await page.locator("select[name=status]").select_option("ended")
    await page.get_by_label("As of").fill("2020-01-01")
    await page.get_by_role("button", name="Apply").click()
    await expect(page.get_by_role("heading", name="No memories found")).to_be_visible()


async def test_no_page_is_wider_than_a_phone(known: Served, new_page: NewPage) -> None:
    page = await new_page(known.url, PHONE)
    for path in PAGES:
        await page.goto(f"/console/{path}")
        assert not await is_too_wide(page), path
    await page.goto("/console/memory/not-remembered")
    await expect(page.get_by_role("row", name="past")).to_contain_text(read_reasons()["past"])
    assert not await is_too_wide(page)


async def test_user_key_changes_only_its_own_memories(console: Served, new_page: NewPage, settings: Settings) -> None:
    alex = Scope("alex", session="monday", project="shop")
    record_messages(settings, alex)
    with connect_sync(settings, worker=False) as memory:
        keys = keys_of_each_role(memory)
    page = await new_page(console.url)
    await sign_in(page, keys.user)
    await send_correction(page, "Faro", "correct")
    await expect(find_card(page, "location").locator(".value")).to_have_text("Faro")
    await expect(page.get_by_role("button", name="Share with project")).to_have_count(0)
    await expect(page.get_by_label("Everyone in shop")).to_have_count(0)
    await send_correction(page, "Faro", "promote")
    await expect(page.get_by_role("alert")).to_contain_text("promote takes the role admin")


async def send_correction(page: Page, value: str, act: str) -> None:
    """Send the form that corrects a memory; with another act, as a manipulated page would."""
    location = find_card(page, "location")
    await location.locator("summary", has_text="Correct").click()
    await location.get_by_label("Correct value").fill(value)
    form = location.locator("form", has=page.get_by_label("Correct value"))
    await form.evaluate("(form, act) => { form.action = `/console/memory/${act}` }", act)
    await form.get_by_role("button").click()


@pytest.mark.parametrize(
    ("path", "address"),
    [
        ("memory?kind=note&notice=saved", "/console/memory?kind=note&notice=learned"),
        ("chat?session=x&at=3#turn-3", "/console/chat?session=x&at=3&notice=learned#turn-3"),
        ("//elsewhere.example/memory", "/console/elsewhere.example/memory?notice=learned"),
        ("https://elsewhere.example", "/console/https://elsewhere.example?notice=learned"),
        ("../v1/memories", "/console/memory?notice=learned"),
        ("\\\\elsewhere.example", "/console/memory?notice=learned"),
        ("", "/console/memory?notice=learned"),
    ],
)
def test_form_leads_back_to_console_pages_only(path: str, address: str) -> None:
    led = redirect_back(path, "learned").headers["location"]
    assert (led, urlsplit(led).netloc) == (address, "")


def test_examples_of_rejection_reasons_are_rejected() -> None:
    books = rulebooks()
    gates = {gate.reason for book in books for gate in book.gates}
    assert gates <= read_reasons().keys()
    examples = {reason: re.findall("“(.+?)”", meaning) for reason, meaning in read_reasons().items()}
    for reason, said in ((reason, said) for reason, all_said in examples.items() for said in all_said):
        assert reason in {each.reason for each in extract(said, "user", books).rejected}, said
