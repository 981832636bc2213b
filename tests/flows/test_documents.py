"""Documents: taken in once, read by a process of its own, shown, and dropped with all that was made of them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from recollect import Engine, InvalidInput, NotFound, Scope, TooLarge, UnsupportedFile, Upload, connect, connect_sync
from recollect.providers.fake import FakeEmbedder
from recollect.settings import Settings
from recollect.values.document import Block, join_chunks
from tests.canonical_text import iter_canonical_text, split_chunks

ALEX, BLAKE, BANKER = Scope("alex"), Scope("blake"), Scope("alex", project="bank")
TABLES = ("document", "document_part", "chunk", "posting", "chunk_vector")
GUIDE = b"# Bees\n\nA hive holds one queen.\n\n# Honey\n\nHoney is taken in July.\n"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)


@pytest.fixture
async def engine(settings: Settings) -> AsyncIterator[Engine]:
    async with connect(settings, embedder=FakeEmbedder(), worker=False) as memory:
        yield memory


def counts(database: str) -> dict[str, int]:
    with psycopg.connect(database) as owner:
        found = {table: owner.execute(f"SELECT count(*) FROM recollect.{table}".encode()) for table in TABLES}
        return {table: row[0] for table, cursor in found.items() if (row := cursor.fetchone())}


async def in_pieces(content: bytes, size: int = 7) -> AsyncIterator[bytes]:
    for start in range(0, len(content), size):
        yield content[start : start + size]


async def test_an_uploaded_file_waits_is_read_and_then_its_bytes_are_gone(engine: Engine, database: str) -> None:
    added = await engine.documents.add(ALEX, Upload("bees.md", in_pieces(GUIDE), "All about bees"))
    assert (added.status, added.progress, added.format, added.size) == ("pending", 0, None, len(GUIDE))
    assert counts(database)["document_part"] == 1

    await engine.settle(ALEX)

    read = await engine.documents.get(ALEX, added.id)
    assert (read.status, read.progress, read.format, read.failure) == ("processed", 1, "markdown", None)
    assert (read.title, read.source, read.chunks, read.owner) == ("All about bees", "bees.md", 1, "user")
    assert read.tokens > 10
    assert counts(database) == {**counts(database), "document_part": 0, "chunk": 1, "chunk_vector": 1}


@pytest.mark.parametrize("how", ["bytes", "pieces", "path"])
async def test_the_same_bytes_are_one_document_however_they_come(engine: Engine, tmp_path: Path, how: str) -> None:
    first = await engine.documents.add(ALEX, Upload("bees.md", GUIDE))
    path = tmp_path / "bees.md"
    path.write_bytes(GUIDE)
    parts: dict[str, Any] = {"bytes": GUIDE, "pieces": in_pieces(GUIDE), "path": path}

    again = await engine.documents.add(ALEX, Upload("copy.md", parts[how]))

    assert again == first
    assert len(await engine.documents.find(ALEX)) == 1


async def test_a_user_has_his_own_documents_and_shares_the_project_s(engine: Engine) -> None:
    own = await engine.documents.add(ALEX, Upload("own.txt", b"the secret of alex"))
    shared = await engine.documents.add(ALEX, Upload("shared.txt", b"what all may know"), owner="project")

    assert [(found.id, found.owner) for found in await engine.documents.find(ALEX)] == [
        (shared.id, "project"),
        (own.id, "user"),
    ]
    assert [found.id for found in await engine.documents.find(BLAKE)] == [shared.id]
    assert await engine.documents.find(BANKER) == []
    assert [found.id for found in await engine.documents.find(ALEX, owner="user")] == [own.id]
    assert (await engine.documents.get(BLAKE, shared.id)).added_by == "alex"


async def test_who_added_a_shared_document_is_forgotten_with_him_and_the_document_stays(engine: Engine) -> None:
    shared = await engine.documents.add(ALEX, Upload("shared.txt", b"what all may know"), owner="project")
    other = await engine.documents.add(BLAKE, Upload("other.txt", b"what blake gave to all"), owner="project")

    await engine.forget(ALEX)

    assert (await engine.documents.get(BLAKE, shared.id)).added_by == ""
    assert (await engine.documents.get(BLAKE, other.id)).added_by == "blake"


@pytest.mark.parametrize("verb", ["get", "drop", "passage"])
async def test_another_s_document_is_none(engine: Engine, verb: str) -> None:
    own = await engine.documents.add(ALEX, Upload("own.txt", b"the secret of alex"))
    place = (0, 10) if verb == "passage" else ()

    for other in (BLAKE, BANKER):
        with pytest.raises(NotFound):
            await getattr(engine.documents, verb)(other, own.id, *place)
    with pytest.raises(NotFound):
        await getattr(engine.documents, verb)(ALEX, uuid4(), *place)
    assert (await engine.documents.get(ALEX, own.id)).status == "pending"


async def test_documents_are_listed_by_page_and_by_status(engine: Engine) -> None:
    added = [await engine.documents.add(ALEX, Upload(f"{n}.txt", f"text {n}".encode())) for n in range(5)]
    newest = [document.id for document in reversed(added)]
    await engine.settle(ALEX)
    late = await engine.documents.add(ALEX, Upload("late.txt", b"late"))

    first = await engine.documents.find(ALEX, status=["processed"], limit=3)
    rest = await engine.documents.find(ALEX, status=["processed"], limit=3, after=first[-1].id)

    assert [document.id for document in first + rest] == newest
    assert [document.id for document in await engine.documents.find(ALEX, status=["pending", "failed"])] == [late.id]


async def test_what_is_dropped_leaves_no_row_and_a_receipt(engine: Engine, database: str) -> None:
    kept = await engine.documents.add(BLAKE, Upload("kept.md", GUIDE))
    await engine.settle(BLAKE)
    before = counts(database)
    gone = await engine.documents.add(ALEX, Upload("gone.md", GUIDE))
    await engine.settle(ALEX)
    made = counts(database)

    receipt = await engine.documents.drop(ALEX, gone.id)

    assert receipt.rows == {table: made[table] - before[table] for table in TABLES}
    assert counts(database) == before
    assert (await engine.documents.get(BLAKE, kept.id)).status == "processed"
    assert await engine.documents.search(ALEX, "queen") == []
    trail = [(deed.action, deed.subject) for deed in await engine.audit(ALEX)]
    assert trail == [("added", f"document:{gone.id}"), ("dropped", f"document:{gone.id}")]


async def test_a_file_that_cannot_be_read_fails_with_a_sentence_and_may_come_again(
    engine: Engine, database: str
) -> None:
    broken = b"%PDF-1.7\nnothing of a PDF follows"
    added = await engine.documents.add(ALEX, Upload("broken.pdf", broken))
    await engine.settle(ALEX)

    failed = await engine.documents.get(ALEX, added.id)
    assert (failed.status, failed.failure) == ("failed", "corrupt")
    assert "damaged" in (failed.sentence or "")
    assert counts(database) == {**dict.fromkeys(TABLES, 0), "document": 1}

    again = await engine.documents.add(ALEX, Upload("broken.pdf", broken))
    assert (again.id, again.status, again.sentence) == (added.id, "pending", None)
    assert counts(database)["document_part"] == 1


@pytest.mark.parametrize(
    ("upload", "error"),
    [
        (Upload("a.txt", b"twelve bytes", most=11), TooLarge),
        (Upload("a.txt", PNG), UnsupportedFile),
        (Upload("a.txt", b""), UnsupportedFile),
        (Upload("", b"x"), InvalidInput),
        (Upload("a.txt", "text"), InvalidInput),  # type: ignore[arg-type]
        (Upload("a.txt", Path("/nowhere/at/all")), InvalidInput),
        (Upload("a.txt", Path("/dev/zero")), InvalidInput),
        (Upload("a" * 256, b"x"), InvalidInput),
    ],
)
async def test_what_can_be_refused_at_once_is_and_nothing_is_kept(
    engine: Engine, database: str, upload: Upload, error: type[InvalidInput]
) -> None:
    with pytest.raises(error):
        await engine.documents.add(ALEX, upload)

    assert counts(database) == dict.fromkeys(TABLES, 0)


async def test_a_citation_opens_at_its_place(engine: Engine) -> None:
    lines = [f"Paragraph {n} speaks of number {n * n}, and of little else but numbers." for n in range(400)]
    added = await engine.documents.add(ALEX, Upload("numbers.txt", "\n\n".join(lines).encode()))
    await engine.settle(ALEX)
    text = "\n\n".join(lines)
    assert (await engine.documents.get(ALEX, added.id)).chunks > 5

    for hit in await engine.documents.search(ALEX, "paragraph 377 number 142129"):
        assert hit.text == text[hit.chunk.start : hit.chunk.end]
        around = await engine.documents.passage(ALEX, added.id, max(0, hit.chunk.start - 100), hit.chunk.end + 100)
        assert around.text == text[around.start : around.end]
    whole = await engine.documents.passage(ALEX, added.id, 0, 99_999)
    assert (whole.text, whole.start, whole.end) == (text, 0, len(text))
    with pytest.raises(NotFound, match="has no text at 90000"):
        await engine.documents.passage(ALEX, added.id, 90_000, 90_010)


@pytest.mark.parametrize(("start", "end"), [(0, 5), (3, 40), (20, 21), (0, 10_000), (250, 260)])
def test_a_range_joined_from_chunks_is_the_canonical_text_but_for_blanks(start: int, end: int) -> None:
    blocks = [Block(f"Sentence {n} is here. It has a second half, number {n}.") for n in range(12)]
    text = "".join(iter_canonical_text(blocks))
    cut = list(split_chunks(blocks, size=40, overlap=8))

    found, low, high = join_chunks([chunk for chunk in cut if chunk.end > start and chunk.start < end], start, end)

    assert found.split() == text[low:high].split()
    assert (low, high) == (start, min(end, len(text)))


async def test_an_export_has_a_user_s_own_documents_with_their_text(engine: Engine) -> None:
    own = await engine.documents.add(ALEX, Upload("bees.md", GUIDE))
    await engine.documents.add(ALEX, Upload("shared.txt", b"what all may know"), owner="project")
    await engine.settle(ALEX)

    lines = [json.loads(line) async for line in engine.export(ALEX)]

    [document] = [line for line in lines if line["kind"] == "document"]
    [chunk] = [line for line in lines if line["kind"] == "chunk"]
    assert (document["id"], chunk["document"], document["status"]) == (str(own.id), str(own.id), "processed")
    assert "one queen" in chunk["text"]


def test_plain_code_can_do_all_of_it(settings: Settings) -> None:
    with connect_sync(settings, worker=False) as memory:
        added = memory.documents.add(ALEX, Upload("bees.md", GUIDE))
        memory.settle(ALEX)

        assert [found.id for found in memory.documents.find(ALEX)] == [added.id]
        assert memory.documents.get(ALEX, str(added.id)).status == "processed"
        [hit] = memory.documents.search(ALEX, "when is honey taken?")
        assert "July" in memory.documents.passage(ALEX, added.id, hit.chunk.start, hit.chunk.end).text
        assert memory.documents.drop(ALEX, added.id).rows["chunk"] == 1
