"""The documents room: files come in and are seen being read, questions are answered with the place they rest on, and a
document goes with a receipt; at a desk, on a phone, without scripts, and for who may not share. Names of files and what
stands in them are hostile here: a script that ran, or a dialog, fails the test (chromium.py watches)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from doors.http.loopback import Keys, Served, keys_of_each_role, served
from playwright.async_api import FilePayload, Page, expect
from providers.files.makers import pdf, scanned_pdf

from recollect import Scope, SyncEngine, connect_sync
from recollect.doors.console.documents_shapes import exchange
from recollect.hosts.documents.asking import Answered, Source
from recollect.model.lesson import Owner
from recollect.model.library import Upload
from recollect.settings import Settings

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
    await page.get_by_label("Add documents").set_input_files(files)
    await page.get_by_role("button", name="Add", exact=True).click()


async def ask(page: Page, question: str) -> None:
    await page.get_by_label("Question", exact=True).fill(question)
    await page.keyboard.press("Enter")


async def is_too_wide(page: Page) -> bool:
    return bool(await page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desk", "phone"])
async def test_an_answer_leads_to_the_words_in_the_document_that_it_rests_on(
    console: Served, new_page: NewPage, size: dict[str, int]
) -> None:
    page = await new_page(console.url, size)
    await page.goto("/console/documents")
    await expect(page.get_by_role("heading", name="No documents yet")).to_be_visible()
    await add(page, [file("handbook.pdf", HANDBOOK), file(EVIL_NAME, EVIL)])
    await expect(page.locator(".shelved .ready")).to_have_count(2)
    await expect(page.locator(".shelved", has_text="handbook.pdf")).to_contain_text("2 pages")

    await ask(page, "How much is the parking permit?")
    await expect(page.locator(".answer .text")).to_have_text("The parking permit costs nine euros a month. [1]")
    await page.locator(".basis summary").click()
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
    await expect(page.locator(".refusal .verdict")).to_have_text("Not answered: not found in the documents")
    await page.reload()
    await expect(page.locator(".asked")).to_have_count(3)
    assert not await is_too_wide(page)
    await page.locator(".asked").nth(1).locator("a.cite").click()
    await expect(page.locator("mark")).to_contain_text("</mark><script>")
    await expect(page.locator("h1 bdi")).to_have_text(EVIL_NAME)
    assert not await is_too_wide(page)


async def drop_in(page: Page, files: dict[str, bytes]) -> None:
    """As a hand does that drags files from another window."""
    held = await page.evaluate_handle(
        """(files) => {
            const held = new DataTransfer();
            for (const [name, bytes] of files) held.items.add(new File([new Uint8Array(bytes)], name));
            return held;
        }""",
        [[name, list(content)] for name, content in files.items()],
    )
    await page.dispatch_event("main", "drop", {"dataTransfer": held})


async def test_files_dropped_in_say_why_they_cannot_be_read_and_those_ticked_are_asked_alone(
    serve: Callable[..., Served], new_page: NewPage
) -> None:
    page = await new_page(serve(max_body=5_000).url)  # an upload has a limit of its own
    await page.goto("/console/documents")
    prices = "A tyre change costs fifteen euros.\n" + "We mend bicycles of every kind.\n" * 300
    await drop_in(
        page, {"prices.txt": prices.encode(), "scan.pdf": scanned_pdf(), "photo.png": b"\x89PNG\r\n\x1a\n" * 40}
    )
    await expect(page.locator(".sending .problem")).to_contain_text("Files of this kind are not read")
    await page.get_by_role("button", name="Cancel photo.png").click()
    await expect(page.locator(".sending li")).to_have_count(0)
    scan = page.locator(".shelved", has_text="scan.pdf")
    await expect(scan).to_contain_text("could not be read")
    await expect(scan).to_contain_text("The pages are pictures without text.")
    await expect(page.locator(".shelved", has_text="prices.txt").locator(".ready")).to_have_count(1)

    await add(page, [file("colours.txt", "The frame is painted green.\n")])
    await expect(page.locator(".shelved .ready")).to_have_count(2)
    await page.get_by_label("Ask only colours.txt").check()
    await expect(page.locator("#asks-what")).to_have_text("Asks only the 1 ticked of 2 documents.")
    await ask(page, "How much is a tyre change?")
    await expect(page.locator(".refusal")).to_have_count(1)
    await add(page, [file("later.txt", "The bell is made of brass.\n")])
    await expect(page.locator(".shelved")).to_have_count(4)
    await expect(page.get_by_label("Ask only colours.txt")).to_be_checked()
    await page.get_by_label("Ask only colours.txt").uncheck()
    await ask(page, "How much is a tyre change?")
    await expect(page.locator(".citations")).to_contain_text("prices.txt")

    await scan.locator("summary").click()
    await page.get_by_role("button", name="Delete it").click()
    await expect(page.locator("#shelf-place .told")).to_contain_text("scan.pdf is deleted. Erased: 1 document")
    await expect(scan).to_have_count(0)


async def test_without_scripts_files_are_added_asked_and_deleted_all_the_same(
    console: Served, new_page: NewPage
) -> None:
    page = await new_page(console.url, java_script_enabled=False)
    await page.goto("/console/documents")
    await add(page, [file("handbook.pdf", HANDBOOK), file("photo.png", b"\x89PNG\r\n\x1a\n" * 40)])
    await expect(page.locator(".sent .problem")).to_contain_text("Files of this kind are not read")
    await expect(page.locator(".sent .good")).to_have_count(1)
    await page.get_by_role("link", name="Back to the documents").click()
    while await page.get_by_role("link", name="Look again").count():
        await page.reload()

    await page.get_by_label("Question", exact=True).fill("How many days of holiday do employees have?")
    await page.get_by_label("Ask only handbook.pdf").check()
    await page.get_by_label("use memory").uncheck()
    await page.get_by_role("button", name="Ask", exact=True).click()
    await expect(page.locator(".answer .text")).to_contain_text("thirty days of holiday")
    await expect(page.get_by_label("Ask only handbook.pdf")).to_be_checked()
    await expect(page.get_by_label("use memory")).not_to_be_checked()
    await page.locator(".basis summary").click()
    await page.get_by_role("link", name="What it rests on").click()
    await page.locator(".found .used a").click()
    await expect(page.locator("mark")).to_contain_text("thirty days of holiday")
    await page.get_by_role("link", name="Next passage").first.click()
    await expect(page.locator("mark")).to_have_count(0)
    await page.get_by_role("link", name="To the cited words").first.click()
    await expect(page.locator(".where")).to_contain_text("page 1")
    await page.locator(".does summary").click()
    await page.get_by_role("button", name="Delete it").click()
    await expect(page.locator(".told")).to_contain_text("handbook.pdf is deleted. Erased: 1 document")
    await page.get_by_role("link", name="Back to the documents").click()
    await page.get_by_role("button", name="Add a small example to try it with").click()
    await expect(page.locator(".shelved")).to_contain_text("bicycle workshop")


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
    return str(memory.add_document(Scope(user, project="shop"), upload, owner=owner).id)


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


async def test_a_user_sees_what_the_project_shares_and_may_neither_share_nor_delete_it(
    shop: tuple[Served, Keys, dict[str, str]], new_page: NewPage
) -> None:
    server, keys, ids = shop
    page = await new_page(server.url)
    await sign_in(page, keys.user)
    await expect(page.locator(".shelved .title")).to_have_text(["mine.txt", "shared.txt"])
    await expect(page.get_by_label("everybody in shop")).to_have_count(0)
    await expect(page.locator(".shelved", has_text="mine.txt").get_by_text("Delete", exact=True)).to_have_count(1)
    await expect(page.locator(".shelved", has_text="shared.txt").get_by_text("Delete", exact=True)).to_have_count(0)
    assert await sent(page, "/console/documents/add", {"shared": "true"}) == 403
    assert await sent(page, "/console/documents/add", {}, token="another page's") == 403
    assert await sent(page, "/console/documents/drop", {"id": ids["shared"]}) == 403
    assert await sent(page, "/console/documents/drop", {"id": ids["theirs"]}) == 404
    await page.goto(f"/console/documents/one?id={ids['theirs']}")
    await expect(page.locator(".problem")).to_have_text("this document is not here any more")
    await page.goto("/console/documents")
    await expect(page.locator(".shelved .title")).to_have_text(["mine.txt", "shared.txt"])


async def test_an_admin_of_the_project_shares_documents_and_deletes_shared_ones(
    shop: tuple[Served, Keys, dict[str, str]], new_page: NewPage
) -> None:
    server, keys, ids = shop
    page = await new_page(server.url)
    await sign_in(page, keys.admin)
    await page.get_by_role("main").get_by_label("User").fill("boss")  # it acts for many: whose shelf is it to be?
    await page.get_by_role("main").get_by_role("button", name="Look there").click()
    await page.goto("/console/documents")
    await page.get_by_label("everybody in shop").check()
    await add(page, [file("rules.txt", "Be kind.")])
    await expect(page.locator(".shelved .title")).to_have_text(["rules.txt", "shared.txt"])
    await expect(page.locator(".shelved .tier-project")).to_have_count(2)
    await page.locator(f"#document-{ids['shared']} summary").click()
    await page.get_by_role("button", name="Delete it").click()
    await expect(page.locator(".shelved .title")).to_have_text(["rules.txt"])


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
def test_citations_in_an_answer_become_numbers_only_where_there_is_such_a_passage(text: str, shown: list[Any]) -> None:
    told = exchange("?", None, answered(text, ONE, TWO), {}, ["tuesday#3"], is_newest=True)
    pieces = [each.cited.number if each.cited else each.memory or each.text for each in told.pieces]
    assert pieces == shown
    assert [each.title for each in told.cited] == ["a document that is gone"] * 2
