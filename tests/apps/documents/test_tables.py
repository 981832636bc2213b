"""Tables of plain text: each row answers with its column names; superlatives compare the rows of one column."""

from __future__ import annotations

from datetime import UTC, datetime
from io import BytesIO
from uuid import UUID

import pytest

from recollect import Scope, Upload, connect
from recollect.apps.documents.librarian import Librarian
from recollect.apps.documents.question import Question
from recollect.apps.documents.quotes import quote_answer
from recollect.providers.files.plain_text import read_text
from recollect.providers.files.source import Source
from recollect.recall.followup import make_standalone
from recollect.settings import Settings
from recollect.values.document import ChunkHit, Document, DocumentId, Limits
from tests.canonical_text import split_chunks

NOW = datetime(2026, 3, 2, tzinfo=UTC)
HANDBOOK = """Departments and their budgets
Department    Headcount   Budget    Travel
Sales                14   120,000   by car
Support               9    45,000   by bus
Finance               4    30,000   by train
Total                27   195,000

Registration closes on 12 April. Late registration costs 40 euros more.

部门      预算    人数
Sales     12万    14
财务部    3万     4
支持部    4万     9

Item              Price   Colour
Toner black       49.90   black
Toner blue        59.90   blue
Paper A4           4.10   white
"""


def read_hits(text: str, size: int = 800) -> list[ChunkHit]:
    content = text.encode()
    blocks = read_text(Source(BytesIO(content), len(content), Limits()))
    chunks = list(split_chunks(blocks, size=size, overlap=0))
    counts = (0, len(chunks), sum(chunk.tokens for chunk in chunks), chunks[-1].end)
    title, place = "handbook.txt", DocumentId(UUID(int=1))
    document = Document(place, title, title, "alex", 1, "", "processed", "text", None, *counts, 1.0, NOW, NOW)
    return [ChunkHit(document, chunk, 1.0, {}, {}, ()) for chunk in chunks]


def answer(question: str, hits: list[ChunkHit] | None = None) -> str:
    reply = quote_answer(question, hits or read_hits(HANDBOOK))
    return "" if reply.refused else reply.text.partition(" (Doc ")[0]


@pytest.mark.parametrize(
    ("question", "row"),
    [
        ("What is the budget for Support?", "Department: Support; Headcount: 9; Budget: 45,000; Travel: by bus"),
        ("How does Finance travel?", "Department: Finance; Headcount: 4; Budget: 30,000; Travel: by train"),
        ("Sales的预算是多少？", "部门: Sales; 预算: 12万; 人数: 14"),
        ("what is the budjet of Finanse?", "Department: Finance; Headcount: 4; Budget: 30,000; Travel: by train"),
        ("How much is black toner?", "Item: Toner black; Price: 49.90; Colour: black"),
    ],
)
def test_cell_of_a_text_table_answers(question: str, row: str) -> None:
    assert answer(question) == row


@pytest.mark.parametrize(
    ("question", "subject"),
    [
        ("Which department has the biggest headcount?", "Department: Sales;"),
        ("Which department has the smallest budget?", "Department: Finance;"),
        ("Which item has the lowest price?", "Item: Paper A4;"),
        ("Which toner has the lowest price?", "Item: Toner black;"),
        ("哪个部门人数最多？", "部门: Sales;"),
    ],
)
def test_superlative_compares_the_named_column(question: str, subject: str) -> None:
    assert answer(question).startswith(subject)


OFFICES = """Office    Parking spaces   Meeting rooms
Leeds                 12               3
Porto                 42               2
"""


def test_superlative_finds_a_column_by_a_word_of_its_own() -> None:
    assert answer("Which office has the most parking?", read_hits(OFFICES)).startswith("Office: Porto;")


@pytest.mark.parametrize(
    "question",
    [
        "Which city has the biggest headcount?",
        "Which department has the biggest travel?",
    ],
)
def test_superlative_without_one_column_of_numbers_is_refused(question: str) -> None:
    assert answer(question) == ""


def test_superlative_needs_all_rows_of_the_table() -> None:
    rows = "\n".join(f"Team{number:<10}{number:>8}   by bus" for number in range(100, 160))
    hits = read_hits(f"Department    Headcount   Travel\n{rows}\n", size=200)
    question = "Which department has the biggest headcount?"
    assert answer(question, hits).startswith("Department: Team159;")
    assert answer(question, hits[:-1]) == ""


@pytest.mark.parametrize("units", ["12 k", "1.200"])
def test_numbers_of_different_form_are_not_compared(units: str) -> None:
    hits = read_hits(
        f"Team       Cost    Place\nRed        900     Rome\nBlue       {units}   Oslo\nGreen      10      Bonn\n"
    )
    assert answer("Which team has the biggest cost?", hits) == ""


def test_misspelt_question_is_answered_as_if_spelt_right() -> None:
    assert answer("when does registraton close?") == "Registration closes on 12 April."


def test_follow_up_with_one_takes_the_noun_of_the_question_before() -> None:
    question = make_standalone("and the black one?", ["What does the blue toner cost?"])
    assert answer(question) == "Item: Toner black; Price: 49.90; Colour: black"


async def test_uploaded_table_answers_a_conversation(settings: Settings) -> None:
    async with connect(settings, worker=False) as engine:
        alex = Scope("alex", "monday")
        await engine.documents.add(alex, Upload("handbook.txt", HANDBOOK.encode()))
        await engine.settle(alex)
        librarian = Librarian(engine, settings)
        for question, start in (
            ("What is the budget for Support?", "Department: Support;"),
            ("and Finance?", "Department: Finance;"),
            ("Which department has the biggest headcount?", "Department: Sales;"),
            ("when does registraton close?", "Registration closes on 12 April."),
            ("What does the blue toner cost?", "Item: Toner blue;"),
            ("and the black one?", "Item: Toner black;"),
        ):
            answered = await librarian.query(alex, Question(question))
            assert answered.answer.startswith(start), question
            assert not answered.refused
