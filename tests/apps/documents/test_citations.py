"""A citation opens at the quoted place, in every format: the very sentence, on the page it is said to be on."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Callable

import pytest

from recollect import Engine, Upload, connect
from recollect.apps.documents.librarian import Librarian
from recollect.apps.documents.question import Question
from recollect.settings import Settings

from .library_door import ALEX

FILLER = "The archive keeps its letters in order of their date, and nobody may take one home without asking. "
BEES = "A hive holds one queen and thousands of workers."
HONEY = "Honey is taken in July, when the lime trees have ended."
PARAGRAPHS = [FILLER * 30, BEES, FILLER * 30, HONEY, FILLER * 30]


def pdf() -> bytes:
    """What is asked for stands on the pages 2 and 4."""
    from fpdf import FPDF

    document = FPDF()
    for paragraph in PARAGRAPHS:
        document.add_page()
        document.set_font("helvetica", size=11)
        document.multi_cell(0, 6, paragraph)
    return bytes(document.output())


def docx() -> bytes:
    import docx

    document, file = docx.Document(), io.BytesIO()
    for paragraph in PARAGRAPHS:
        document.add_paragraph(paragraph)
    document.save(file)
    return file.getvalue()


def pptx() -> bytes:
    import pptx

    presentation, file = pptx.Presentation(), io.BytesIO()
    for paragraph in PARAGRAPHS:
        slide = presentation.slides.add_slide(presentation.slide_layouts[1])
        slide.placeholders[1].text = paragraph
    presentation.save(file)
    return file.getvalue()


def xlsx() -> bytes:
    from openpyxl import Workbook

    book, file = Workbook(write_only=True), io.BytesIO()
    sheet = book.create_sheet("Notes")
    for row in (["Number", "Note"], *([n, paragraph] for n, paragraph in enumerate(PARAGRAPHS))):
        sheet.append(row)
    book.save(file)
    return file.getvalue()


def plain(joint: str, before: str = "", after: str = "") -> Callable[[], bytes]:
    return lambda: joint.join(f"{before}{paragraph}{after}" for paragraph in PARAGRAPHS).encode()


FILES: dict[str, Callable[[], bytes]] = {
    "notes.txt": plain("\n\n"),
    "notes.md": plain("\n\n"),
    "notes.html": plain("\n", "<p>", "</p>"),
    "notes.csv": lambda: b"Number,Note\n" + plain("\n", '1,"', '"')(),
    "notes.pdf": pdf,
    "notes.docx": docx,
    "notes.pptx": pptx,
    "notes.xlsx": xlsx,
}


@pytest.fixture
async def engine(settings: Settings) -> AsyncIterator[Engine]:
    async with connect(settings, worker=False) as memory:
        yield memory


@pytest.mark.parametrize("name", FILES)
async def test_a_citation_opens_at_the_quoted_sentence(engine: Engine, settings: Settings, name: str) -> None:
    document = await engine.documents.add(ALEX, Upload(name, FILES[name]()))
    await engine.settle(ALEX)
    librarian = Librarian(engine, settings)
    for question, sentence, page in (
        ("How many queens does a hive hold?", BEES, 2),
        ("When is honey taken?", HONEY, 4),
    ):
        answer = await librarian.query(ALEX, Question(question))
        [cited] = [source for source in answer.sources if source.cited]
        passage = await engine.documents.passage(ALEX, document.id, cited.start, cited.end)
        assert sentence in " ".join(passage.text.split())
        assert len(passage.text) <= len(sentence) + 20  # the number of a row, the end of a line
        assert " ".join(answer.answer.split()).startswith(" ".join(passage.text.split()))
        assert answer.answer.endswith(f"(Doc {document.id}/Chunk {cited.chunk})")
        if name.endswith((".pdf", ".pptx")):
            assert (cited.page, cited.page_end) == (passage.page, passage.page_end) == (page, page)
        else:
            assert cited.page is None
