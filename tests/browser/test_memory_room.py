"""The memory room in a browser: what is known and its story, teaching and correcting, the dry run; with the keyboard
alone, on a phone, without scripts, and with a key that may less."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.async_playwright import Axe
from doors.http.loopback import Served, keys_of_each_role
from playwright.async_api import Locator, Page, expect

from recollect import Lesson, Scope, connect_sync
from recollect.doors.console.memory_acts import to_page
from recollect.doors.console.memory_shapes import TURNED_AWAY
from recollect.model.conversation import TurnLike
from recollect.model.extract import extract
from recollect.rules import rulebooks
from recollect.settings import Settings

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
    """The server, after Sam has told it something."""
    tell(settings, SAM)
    return console


def tell(settings: Settings, scope: Scope) -> None:
    with connect_sync(settings, worker=False) as memory:
        memory.record(scope, SAID)
        memory.settle(scope)


def turns_of(settings: Settings) -> list[str]:
    with connect_sync(settings, worker=False) as memory:
        return [turn.text for turn in memory.history(SAM)]


def worth_of_its_kind(settings: Settings, question: str) -> float:
    with connect_sync(settings, worker=False) as memory:
        return memory.recall(SAM, question).hits[0].parts["kind"]


def about(page: Page, key: str) -> Locator:
    return page.locator(".memory", has=page.locator(".what b", has_text=key))


async def tabbed_to(page: Page, wanted: Locator) -> None:
    """Presses Tab until it has the focus, as somebody without a mouse does."""
    element = await wanted.element_handle()
    for _ in range(80):
        await page.keyboard.press("Tab")
        if await page.evaluate("element => document.activeElement === element", element):
            return
    raise AssertionError("the keyboard does not reach it")


async def serious(page: Page) -> list[str]:
    found = await Axe().run(page)
    return [each["id"] for each in found.response["violations"] if each["impact"] in ("serious", "critical")]


async def is_too_wide(page: Page) -> bool:
    return bool(await page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))


async def signed_in(page: Page, secret: str) -> None:
    await page.goto("/console/sign-in?after=memory")
    await page.get_by_label("API key").fill(secret)
    await page.get_by_role("button", name="Sign in").click()


async def test_a_memory_is_corrected_with_the_keyboard_alone_and_its_story_has_both_values(
    known: Served, new_page: NewPage
) -> None:
    page = await new_page(known.url)
    await page.goto("/console/memory")
    location = about(page, "location")
    await tabbed_to(page, location.locator("summary", has_text="Correct"))
    await page.keyboard.press("Enter")
    await tabbed_to(page, location.get_by_label("What is right"))
    await page.keyboard.press("Control+A")
    await page.keyboard.type("Lisbon")
    await tabbed_to(page, location.get_by_role("button", name="Correct it"))
    await page.keyboard.press("Enter")

    await expect(page.get_by_role("status")).to_contain_text("Corrected")
    await expect(about(page, "location").locator(".value")).to_have_text("Lisbon")
    await tabbed_to(page, about(page, "location").get_by_role("link", name="History"))
    await page.keyboard.press("Enter")
    await expect(page.locator(".story .value")).to_have_text(["Lisbon", "Porto"])
    await expect(page.locator(".story li").nth(1)).to_contain_text("Why it ended: corrected by the user")
    assert await serious(page) == []
    await page.locator(".story").get_by_role("link", name="monday#0").click()
    await expect(page.locator("#turn-0")).to_contain_text("I live in Porto")


async def test_a_message_is_marked_and_a_value_blanked_where_it_was_said(
    known: Served, new_page: NewPage, settings: Settings
) -> None:
    page = await new_page(known.url)
    await page.goto("/console/memory")
    await about(page, "todo").get_by_role("button", name="Done").click()
    await expect(about(page, "todo")).to_have_count(0)
    await page.goto("/console/memory?status=ended&kind=todo")
    await expect(about(page, "todo")).to_contain_text("(done)")
    await page.goto("/console/memory")
    await about(page, "location").get_by_role("link", name="History").click()
    before = worth_of_its_kind(settings, "Porto")
    await page.get_by_role("button", name="Mark as high value").click()
    await expect(page.get_by_role("status")).to_have_text("Marked.")
    assert worth_of_its_kind(settings, "Porto") > before
    await page.locator("summary", has_text="Blank it everywhere").click()
    await page.get_by_role("button", name="Blank it everywhere").click()
    await expect(page.get_by_role("status")).to_contain_text("Blanked")
    assert turns_of(settings)[0] == "Call me Sam. I live in [redacted]."


async def test_without_scripts_a_memory_is_taught_and_forgotten(console: Served, new_page: NewPage) -> None:
    page = await new_page(console.url, java_script_enabled=False)
    await page.goto("/console/memory")
    await page.get_by_role("link", name="location: Porto").click()
    await expect(page.get_by_label("What to know")).to_have_value("Porto")
    await page.get_by_role("button", name="Teach it").click()
    await expect(page.get_by_role("status")).to_have_text("Learned.")
    await expect(page.locator(".filters")).to_contain_text("identity 1")
    await expect(about(page, "location")).to_contain_text("manual, by person")
    await about(page, "location").locator("summary", has_text="Forget").click()
    await about(page, "location").get_by_role("button", name="Forget it").click()
    await expect(page.get_by_role("heading", name="Nothing is known yet")).to_be_visible()


async def test_a_dry_run_shows_each_line_with_its_source_and_says_nothing(
    known: Served, new_page: NewPage, settings: Settings
) -> None:
    page = await new_page(known.url)
    await page.goto("/console/memory")
    await page.get_by_label("What would be recalled for …").fill("Where do I live?")
    await page.get_by_role("button", name="Look").click()
    await expect(page.get_by_role("region", name="What is known")).to_contain_text("location: Porto")
    await expect(page.locator(".lines").last).to_contain_text("monday#0")
    await expect(page.locator(".hit").first).to_contain_text(re.compile(r"score \d\.\d\d = "))
    await page.get_by_label("Budget, tokens").fill("30")
    await page.get_by_role("button", name="Look").click()
    await expect(page.get_by_role("heading", name="Left out")).to_be_visible()
    assert await serious(page) == []
    assert turns_of(settings) == [said[1] for said in SAID if isinstance(said, tuple)]


async def test_a_long_list_goes_on_page_by_page_within_its_filters(
    console: Served, new_page: NewPage, settings: Settings
) -> None:
    with connect_sync(settings, worker=False) as memory:
        memory.learn(SAM, [Lesson(f"to do {n}", f"task {n}", "todo") for n in range(50)])
        memory.learn(SAM, Lesson("Porto", "location", "identity"))
        memory.close(SAM, memory.memories(SAM, key="task 0")[0].id)
    page = await new_page(console.url)
    await page.goto("/console/memory?kind=todo")
    await expect(page.get_by_role("navigation", name="Kinds")).to_contain_text("todo 49")
    await expect(page.locator(".memory")).to_have_count(25)
    await page.get_by_role("link", name="Show more").click()
    await expect(page.locator(".memory")).to_have_count(24)
    await expect(page.get_by_role("link", name="Show more")).to_have_count(0)
    await page.locator("select[name=status]").select_option("ended")
    await page.get_by_label("As it was on").fill("2020-01-01")
    await page.get_by_role("button", name="Show").click()
    await expect(page.get_by_role("heading", name="Nothing here")).to_be_visible()


async def test_on_a_phone_no_page_is_wider_than_the_screen(known: Served, new_page: NewPage) -> None:
    page = await new_page(known.url, PHONE)
    for path in PAGES:
        await page.goto(f"/console/{path}")
        assert not await is_too_wide(page), path
    await page.goto("/console/memory/turned-away")
    await expect(page.get_by_role("row", name="past")).to_contain_text(TURNED_AWAY["past"])
    assert not await is_too_wide(page)


async def test_a_users_key_changes_his_own_memory_and_not_the_projects(
    console: Served, new_page: NewPage, settings: Settings
) -> None:
    alex = Scope("alex", session="monday", project="shop")
    tell(settings, alex)
    with connect_sync(settings, worker=False) as memory:
        keys = keys_of_each_role(memory)
    page = await new_page(console.url)
    await signed_in(page, keys.user)
    await corrected(page, "Faro", "correct")
    await expect(about(page, "location").locator(".value")).to_have_text("Faro")
    await expect(page.get_by_role("button", name="Make it the project's")).to_have_count(0)
    await expect(page.get_by_label("for all of shop")).to_have_count(0)
    await corrected(page, "Faro", "promote")
    await expect(page.get_by_role("alert")).to_contain_text("promote takes the role admin")


async def corrected(page: Page, value: str, act: str) -> None:
    """Sends the form that corrects; with another act, as somebody does who makes his own form."""
    location = about(page, "location")
    await location.locator("summary", has_text="Correct").click()
    await location.get_by_label("What is right").fill(value)
    form = location.locator("form", has=page.get_by_label("What is right"))
    await form.evaluate("(form, act) => { form.action = `/console/memory/${act}` }", act)
    await form.get_by_role("button").click()


@pytest.mark.parametrize(
    ("path", "address"),
    [
        ("memory?kind=note&told=saved", "/console/memory?kind=note&told=learned"),
        ("chat?session=x&at=3#turn-3", "/console/chat?session=x&at=3&told=learned#turn-3"),
        ("//elsewhere.example/memory", "/console/elsewhere.example/memory?told=learned"),
        ("https://elsewhere.example", "/console/https://elsewhere.example?told=learned"),
        ("../v1/memories", "/console/memory?told=learned"),
        ("\\\\elsewhere.example", "/console/memory?told=learned"),
        ("", "/console/memory?told=learned"),
    ],
)
def test_a_form_leads_back_to_our_own_pages_only(path: str, address: str) -> None:
    led = to_page(path, "learned").headers["location"]
    assert (led, urlsplit(led).netloc) == (address, "")


def test_every_reason_of_the_rules_is_explained_with_an_example_that_they_turn_away() -> None:
    books = rulebooks()
    gates = {gate.reason for book in books for gate in book.gates}
    assert gates <= TURNED_AWAY.keys()
    examples = {reason: re.findall("“(.+?)”", meaning) for reason, meaning in TURNED_AWAY.items()}
    for reason, said in ((reason, said) for reason, all_said in examples.items() for said in all_said):
        assert reason in {each.reason for each in extract(said, "user", books).rejected}, said
