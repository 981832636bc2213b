"""The chat page: a message is learned from, recalled in a new session, explained and corrected; on a desktop, on a
phone, with the keyboard alone and without scripts."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from playwright.async_api import Page, ViewportSize, expect

from tests.openai_server import serving
from tests.server.http.loopback import Served

from .chromium import DESKTOP, PHONE
from .conftest import NewPage


async def say(page: Page, text: str) -> None:
    """Send a message with the keyboard and wait for the reply."""
    before = await page.locator(".by-assistant").count()
    await page.get_by_label("Message").fill(text)
    await page.keyboard.press("Enter")
    await expect(page.locator(".by-assistant .beside")).to_have_count(before + 1)


async def is_too_wide(page: Page) -> bool:
    return bool(await page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
async def test_message_is_learned_recalled_and_corrected(
    console: Served, new_page: NewPage, size: ViewportSize
) -> None:
    page = await new_page(console.url, size)
    await page.goto("/")
    await say(page, "Call me Sam. I live in Porto.")
    await expect(page.locator(".lesson")).to_have_text(["identity location: Porto", "identity nickname: Sam"])
    await expect(page.get_by_role("heading", level=1)).to_have_text("Call me Sam. I live in Porto.")

    await page.get_by_role("link", name="New topic").click()
    await say(page, "Where do I live?")
    answer = page.locator(".by-assistant")
    await expect(answer.locator(".text")).to_contain_text("Porto")
    reason = answer.locator(".reason").first
    await expect(reason).to_contain_text("the question asks for it")
    await expect(reason.locator(".tier").first).to_have_text("user")

    await reason.get_by_text("Correct", exact=True).click()
    await reason.get_by_label("Correct value").fill("Lisbon")
    await reason.get_by_role("button", name="Save correction").click()
    await expect(page.get_by_role("status")).to_contain_text("Corrected")
    await say(page, "Where do I live?")
    await expect(page.locator(".by-assistant .text").last).to_contain_text("Lisbon")
    assert not await is_too_wide(page)


async def test_citation_opens_its_message(console: Served, new_page: NewPage) -> None:
    page = await new_page(console.url)
    await page.goto("/")
    await say(page, "My code word is heron.")
    await page.get_by_role("link", name="New topic").click()
    await say(page, "What is my code word?")
    await page.locator(".by-assistant .text a").first.click()
    await expect(page.locator(".exchange:target .text")).to_have_text("My code word is heron.")


async def test_session_is_renamed_and_forgotten_by_keyboard(console: Served, new_page: NewPage) -> None:
    page = await new_page(console.url)
    await page.goto("/")
    await page.keyboard.type("I have a dog called Rex.")  # the box has the focus
    await page.keyboard.press("Enter")
    await expect(page.locator(".by-assistant .beside")).to_have_count(1)

    await page.get_by_text("Rename", exact=True).first.focus()
    await page.keyboard.press("Enter")
    await page.keyboard.press("Tab")
    await page.keyboard.press("ControlOrMeta+A")
    await page.keyboard.type("About Rex")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", level=1)).to_have_text("About Rex")

    await page.locator(".head summary", has_text="Forget").focus()
    await page.keyboard.press("Enter")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("status")).to_have_text("Forgotten.")
    await expect(page.locator(".sessions li")).to_have_count(0)


async def test_answers_and_explains_without_scripts(console: Served, new_page: NewPage) -> None:
    page = await new_page(console.url, java_script_enabled=False)
    await page.goto("/")
    for text in ("I live in Porto.", "Where do I live?"):
        await page.get_by_label("Message").fill(text)
        await page.get_by_role("button", name="Send").click()
    await expect(page.locator(".by-assistant .text").last).to_contain_text("Porto")
    await page.get_by_role("link", name="Why this answer").last.click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Why this answer")
    await expect(page.locator(".reason").first).to_contain_text("Porto")


async def test_message_without_memory_is_still_stored(console: Served, new_page: NewPage) -> None:
    page = await new_page(console.url)
    await page.goto("/")
    await say(page, "I live in Porto.")
    await page.get_by_role("link", name="New topic").click()
    await page.get_by_text("Options").click()
    await page.get_by_label("Use memory", exact=True).uncheck()
    await say(page, "Where do I live?")
    await expect(page.locator(".by-assistant")).not_to_contain_text("Porto")
    await page.get_by_role("link", name="New topic").click()
    await expect(page.locator(".sessions li")).to_have_count(2)


async def test_model_answer_and_model_failure_are_shown(serve: Callable[..., Served], new_page: NewPage) -> None:
    with serving() as model:
        page = await new_page(serve(model_url=model.url, model="scripted").url)
        await page.goto("/")
        model.answer = lambda _: (200, streamed("You told ", "me: Porto."), {"content-type": "text/event-stream"})
        await say(page, "Where do I live?")
        await expect(page.locator(".by-assistant")).to_contain_text("You told me: Porto.")
        await expect(page.locator(".by-assistant")).to_contain_text("scripted")

        model.answer = lambda _: (500, "out of order")
        await say(page, "And where do I work?")
        await expect(page.locator(".by-assistant").last.locator(".problem")).to_be_visible()


def streamed(*pieces: str) -> str:
    events = [{"choices": [{"index": 0, "delta": {"content": piece}}], "model": "scripted"} for piece in pieces]
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
