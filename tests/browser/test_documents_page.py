"""The documents page: uploads, answers with citations, deletion with a receipt; on a desktop, on a phone, without
scripts, and with a key that may not share. File names and texts are hostile here: a script that runs fails the test
(chromium.py watches for it)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from playwright.async_api import FilePayload, Page, expect

from recollect import Scope, SyncEngine, connect_sync
from recollect.apps.documents.question import Answered, Source
from recollect.server.console.documents import build_exchange
from recollect.settings import Settings
from recollect.values.document import Upload
from recollect.values.lesson import Owner
from tests.providers.files.makers import pdf, scanned_pdf
from tests.server.http.loopback import Keys, Served, keys_of_each_role, served

from .chromium import DESKTOP, PHONE
from .conftest import NewPage

FILLER = "The garden is open to everybody who works here, and the gate is never locked on a working day. " * 30
HANDBOOK = pdf(
    [
        ("Holidays", ["Employees have thirty days of holiday a year.", FILLER]),
        ("Parking", ["Ask at the front desk. The parking permit costs nine euros a month.", FILLER]),
    ]
)
EVIL_NAME = "<img src=x onerror=alert(1)>\u202etxt.md"
EVIL = "# </mark><script>alert(2)</script>\n\nThe vault code is </mark><script>alert(3)</script> heron.\n"


def file(name: str, content: bytes | str) -> FilePayload:
    return {"name": name, "mimeType": "application/octet-stream", "buffer": bytes_of(content)}


def bytes_of(content: bytes | str) -> bytes:
    return content.encode() if isinstance(content, str) else content


async def add(page: Page, files: Sequence[FilePayload]) -> None:
    await page.get_by_label("Upload documents").set_input_files(files)
    await page.get_by_role("button", name="Upload", exact=True).click()


async def ask(page: Page, question: str) -> None:
    await page.get_by_label("Question", exact=True).fill(question)
    await page.keyboard.press("Enter")


async def is_too_wide(page: Page) -> bool:
    return bool(await page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
async def test_citation_opens_the_document_at_its_passage(
    console: Served, new_page: NewPage, size: dict[str, int]
) -> None:
    page = await new_page(console.url, size)
    await page.goto("/console/documents")
    await expect(page.get_by_role("heading", name="No documents yet")).to_be_visible()
    await add(page, [file("handbook.pdf", HANDBOOK), file(EVIL_NAME, EVIL)])
    await expect(page.locator(".listed .ready")).to_have_count(2)
    await expect(page.locator(".listed", has_text="handbook.pdf")).to_contain_text("2 pages")

    await ask(page, "How much is the parking permit?")
    await expect(page.locator(".answer .text")).to_have_text("The parking permit costs nine euros a month. [1]")
    await page.locator(".sources summary").click()
    await expect(page.locator(".found .used")).to_contain_text("nine euros")
    assert not await is_too_wide(page)

    await page.locator("a.cite").click()
    await expect(page.locator("mark")).to_have_text("The parking permit costs nine euros a month.")
    await expect(page.locator(".where")).to_have_text(re.compile("page 2 · Parking"))
    assert not await is_too_wide(page)
    await page.get_by_role("link", name="Back to the answer").click()

    await ask(page, "What is the vault code?")
    await expect(page.locator(".answer .text").last).to_contain_text("<script>alert(3)</script> heron")
    await ask(page, "Who won the chess tournament in Reykjavik?")
    await expect(page.locator(".refusal .verdict")).to_have_text("No answer found in the documents")
    await page.reload()
    await expect(page.locator(".asked")).to_have_count(3)
    assert not await is_too_wide(page)
    await page.locator(".asked").nth(1).locator("a.cite").click()
    await expect(page.locator("mark")).to_contain_text("</mark><script>")
    await expect(page.locator("h1 bdi")).to_have_text(EVIL_NAME)
    assert not await is_too_wide(page)


async def drop_in(page: Page, files: dict[str, bytes]) -> None:
    """Drop files as if dragged from another window."""
    held = await page.evaluate_handle(
        """(files) => {
            const held = new DataTransfer();
            for (const [name, bytes] of files) held.items.add(new File([new Uint8Array(bytes)], name));
            return held;
        }""",
        [[name, list(content)] for name, content in files.items()],
    )
    await page.dispatch_event("main", "drop", {"dataTransfer": held})


async def test_dropped_files_and_selection_of_documents(serve: Callable[..., Served], new_page: NewPage) -> None:
    page = await new_page(serve(max_body=5_000).url)  # an upload has a limit of its own
    await page.goto("/console/documents")
    prices = "A tyre change costs fifteen euros.\n" + "We mend bicycles of every kind.\n" * 300
    await drop_in(
        page, {"prices.txt": prices.encode(), "scan.pdf": scanned_pdf(), "photo.png": b"\x89PNG\r\n\x1a\n" * 40}
    )
    await expect(page.locator(".sending .problem")).to_contain_text("Files of this kind are not read")
    await page.get_by_role("button", name="Cancel photo.png").click()
    await expect(page.locator(".sending li")).to_have_count(0)
    scan = page.locator(".listed", has_text="scan.pdf")
    await expect(scan).to_contain_text("Failed")
    await expect(scan).to_contain_text("The pages are pictures without text.")
    await expect(page.locator(".listed", has_text="prices.txt").locator(".ready")).to_have_count(1)

    await add(page, [file("colours.txt", "The frame is painted green.\n")])
    await expect(page.locator(".listed .ready")).to_have_count(2)
    await page.get_by_label("Search only colours.txt").check()
    await expect(page.locator("#search-scope")).to_have_text("Searches 1 of 2 documents.")
    await ask(page, "How much is a tyre change?")
    await expect(page.locator(".refusal")).to_have_count(1)
    await add(page, [file("later.txt", "The bell is made of brass.\n")])
    await expect(page.locator(".listed")).to_have_count(4)
    await expect(page.get_by_label("Search only colours.txt")).to_be_checked()
    await page.get_by_label("Search only colours.txt").uncheck()
    await ask(page, "How much is a tyre change?")
    await expect(page.locator(".citations")).to_contain_text("prices.txt")

    await scan.locator("summary").click()
    await page.get_by_role("button", name="Delete document").click()
    await expect(page.locator("#document-place .notice")).to_contain_text("scan.pdf was deleted, with ")
    await expect(scan).to_have_count(0)


async def test_documents_work_without_scripts(console: Served, new_page: NewPage) -> None:
    page = await new_page(console.url, java_script_enabled=False)
    await page.goto("/console/documents")
    await add(page, [file("handbook.pdf", HANDBOOK), file("photo.png", b"\x89PNG\r\n\x1a\n" * 40)])
    await expect(page.locator(".results .problem")).to_contain_text("Files of this kind are not read")
    await expect(page.locator(".results .good")).to_have_count(1)
    await page.get_by_role("link", name="Back to documents").click()
    await expect(page.get_by_label("Question", exact=True)).to_be_visible()  # the next page, not the one before
    while await page.get_by_role("link", name="Refresh").count():
        await page.reload()

    await page.get_by_label("Question", exact=True).fill("How many days of holiday do employees have?")
    await page.get_by_label("Search only handbook.pdf").check()
    await page.get_by_text("Options").click()
    await page.get_by_label("Use memory").uncheck()
    await page.get_by_role("button", name="Ask", exact=True).click()
    await expect(page.locator(".answer .text")).to_contain_text("thirty days of holiday")
    await expect(page.get_by_label("Search only handbook.pdf")).to_be_checked()
    await expect(page.get_by_label("Use memory")).not_to_be_checked()
    await page.locator(".sources summary").click()
    await page.get_by_role("link", name="Show sources").click()
    await page.locator(".found .used a").click()
    await expect(page.locator("mark")).to_contain_text("thirty days of holiday")
    await page.get_by_role("link", name="Next").first.click()
    await expect(page.locator("mark")).to_have_count(0)
    await page.get_by_role("link", name="Go to citation").first.click()
    await expect(page.locator(".where")).to_contain_text("page 1")
    await page.locator(".actions summary").click()
    await page.get_by_role("button", name="Delete document").click()
    await expect(page.locator(".notice")).to_contain_text("handbook.pdf was deleted, with ")
    await page.get_by_role("link", name="Back to documents").click()
    await page.get_by_role("button", name="Add an example document").click()
    await expect(page.locator(".listed")).to_contain_text("bicycle workshop")


@pytest.fixture
def shop(settings: Settings) -> Iterator[tuple[Served, Keys, dict[str, str]]]:
    """A server with keys; a document of the project, one of alex and one of blake, by their names."""
    with connect_sync(settings, worker=False) as memory:
        keys = keys_of_each_role(memory)
        ids = {
            "shared": added(memory, "blake", "shared", "project"),
            "mine": added(memory, "alex", "mine", "user"),
            "theirs": added(memory, "blake", "theirs", "user"),
        }
    with served(replace(settings, rate_limit=0.0)) as running:
        yield running, keys, ids


def added(memory: SyncEngine, user: str, name: str, owner: Owner) -> str:
    upload = Upload(f"{name}.txt", f"This is {name}.".encode())
    return str(memory.documents.add(Scope(user, project="shop"), upload, owner=owner).id)


async def sign_in(page: Page, secret: str) -> None:
    await page.goto("/console/documents")
    await page.get_by_label("Key").fill(secret)
    await page.get_by_role("button", name="Sign in").click()


async def sent(page: Page, address: str, fields: dict[str, str], token: str | None = None) -> int:
    """What the server says to a form of the page's own, with these fields."""
    status = await page.evaluate(
        """async ([address, fields, token]) => {
            const body = new FormData();
            body.append("token", token ?? document.querySelector("#upload [name=token]").value);
            for (const [name, value] of Object.entries(fields)) body.append(name, value);
            if (address.endsWith("add")) body.append("file", new File(["It is shared."], "new.txt"));
            return (await fetch(address, { method: "POST", body })).status;
        }""",
        [address, fields, token],
    )
    return int(status)


async def test_user_cannot_share_or_delete_shared_documents(
    shop: tuple[Served, Keys, dict[str, str]], new_page: NewPage
) -> None:
    server, keys, ids = shop
    page = await new_page(server.url)
    await sign_in(page, keys.user)
    await expect(page.locator(".listed .title")).to_have_text(["mine.txt", "shared.txt"])
    await expect(page.get_by_label("Everyone in shop")).to_have_count(0)
    await expect(page.locator(".listed", has_text="mine.txt").get_by_text("Delete", exact=True)).to_have_count(1)
    await expect(page.locator(".listed", has_text="shared.txt").get_by_text("Delete", exact=True)).to_have_count(0)
    assert await sent(page, "/console/documents/add", {"shared": "true"}) == 403
    assert await sent(page, "/console/documents/add", {}, token="another page's") == 403
    assert await sent(page, "/console/documents/drop", {"id": ids["shared"]}) == 403
    assert await sent(page, "/console/documents/drop", {"id": ids["theirs"]}) == 404
    await page.goto(f"/console/documents/one?id={ids['theirs']}")
    await expect(page.locator(".problem")).to_have_text("This document no longer exists.")
    await page.goto("/console/documents")
    await expect(page.locator(".listed .title")).to_have_text(["mine.txt", "shared.txt"])


async def test_admin_shares_and_deletes_shared_documents(
    shop: tuple[Served, Keys, dict[str, str]], new_page: NewPage
) -> None:
    server, keys, ids = shop
    page = await new_page(server.url)
    await sign_in(page, keys.admin)
    await page.get_by_role("main").get_by_label("User").fill("boss")  # this key has to choose a user
    await page.get_by_role("main").get_by_role("button", name="Open").click()
    await page.goto("/console/documents")
    await page.get_by_label("Everyone in shop").check()
    await add(page, [file("rules.txt", "Be kind.")])
    await expect(page.locator(".listed .title")).to_have_text(["rules.txt", "shared.txt"])
    await expect(page.locator(".listed .tier-project")).to_have_count(2)
    await page.locator(f"#document-{ids['shared']} summary").click()
    await page.get_by_role("button", name="Delete document").click()
    await expect(page.locator(".listed .title")).to_have_text(["rules.txt"])


ONE, TWO, MADE_UP = (str(UUID(int=number)) for number in (1, 2, 3))


def answered(text: str, *cited: str) -> Answered:
    sources = tuple(Source(UUID(each), 4, 2, 0.9, "", 10, 20, True, 0, 3) for each in cited)
    return Answered("monday", text, sources, (), 0, 5, None, False, text, "monday#7")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"It is nine. (Doc {ONE}/Chunk 4)", ["It is nine.", 1, ""]),
        (f"Nine [Doc {TWO}/Chunk 4; Doc {ONE}/Chunk 4] euros.", ["Nine", 1, 2, " euros."]),
        (f"See Doc {TWO} / Chunk 4.", ["See ", 1, "."]),
        (f"It is ten. (Doc {MADE_UP}/Chunk 4)", [f"It is ten. (Doc {MADE_UP}/Chunk 4)"]),
        ("Remembered: nine [tuesday#3] [else]", ["Remembered: nine ", "tuesday#3", " [else]"]),
    ],
    ids=["one", "a group, in its order", "without brackets", "a passage never given", "a memory"],
)
def test_only_known_citations_become_numbers(text: str, shown: list[Any]) -> None:
    shown_exchange = build_exchange("?", None, answered(text, ONE, TWO), ["tuesday#3"])
    pieces = [each for text, refs in shown_exchange.pieces for each in (text, *refs)]
    assert [each if isinstance(each, str) else each.number for each in pieces] == shown
    assert len(shown_exchange.citations) == 2
