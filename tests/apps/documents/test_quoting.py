"""Without a model: clear matches are quoted, and a refusal only claims that nothing was found."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest

from recollect.apps.documents.question import Reply, make_source
from recollect.apps.documents.quotes import quote_answer
from recollect.values.document import Block, ChunkHit, Document, DocumentId
from tests.canonical_text import split_chunks

LEASE = (
    "Lease agreement. Tenant: Harbor Books Ltd. The monthly rent is 2,400 euros.",
    "Termination. Either party may end this lease with six months' notice in writing. Pets are not allowed.",
    "Repairs. The landlord pays for repairs above 150 euros. The boiler is serviced in autumn by Nord Heating.",
)
TRAVEL = (
    "Employees may book business class on flights longer than six hours. Hotels may cost at most 140 euros a night.",
    "Trips above 2,000 euros need the approval of the finance director, Ms Okafor.",
    "City: London | Daily allowance: 65 euros. Paid monthly.\nCity: Warsaw | Daily allowance: 45 euros",
)
LEAVE = ("公司年假规定", "员工入职满一年后享有十天带薪年假。病假需要医院证明。报销必须在三十天内提交。")
NOTICE = "Either party may end this lease with six months' notice in writing."
NOW = datetime(2026, 3, 2, tzinfo=UTC)


def hits(*texts: tuple[str, ...]) -> list[ChunkHit]:
    return [hit(f"{number}.txt", text) for number, text in enumerate(texts)]


def hit(title: str, paragraphs: tuple[str, ...]) -> ChunkHit:
    [chunk] = split_chunks([Block(text) for text in paragraphs])
    counts = (0, 1, chunk.tokens, chunk.end)
    name = DocumentId(UUID(int=int(title[0])))
    document = Document(name, title, title, "alex", 1, "", "processed", "text", None, *counts, 1.0, NOW, NOW)
    return ChunkHit(document, chunk, 1.0, {}, {}, ())


def ask(question: str) -> Reply:
    return quote_answer(question, hits(LEASE, TRAVEL, LEAVE))


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("What notice period is needed to terminate?", NOTICE),
        ("How long is the notice period?", NOTICE),
        ("How must the lease be terminated?", NOTICE),
        ("What is the tenant called?", "Tenant: Harbor Books Ltd."),
        ("Who approves expensive trips?", TRAVEL[1]),
        ("Can I fly business class?", "Employees may book business class on flights longer than six hours."),
        ("What is the allowance for Warsaw?", "City: Warsaw; Daily allowance: 45 euros"),
        ("What is the daily allowance in London?", "City: London; Daily allowance: 65 euros. Paid monthly."),
        ("What is the alowance for Wrasaw?", "City: Warsaw; Daily allowance: 45 euros"),
        ("How long is the notcie period?", NOTICE),
        ("年假有几天？", "员工入职满一年后享有十天带薪年假。"),
        ("报销要在几天内提交？", "报销必须在三十天内提交。"),
    ],
)
def test_a_sentence_with_the_words_of_the_question_is_quoted_and_no_title(question: str, sentence: str) -> None:
    [line] = ask(question).text.splitlines()
    assert line.partition(" (Doc ")[0] == sentence


@pytest.mark.parametrize(
    "question",
    [
        "What is the daily allowance in Paris?",
        "What is the email of the finance director?",
        "Who audits the finance director?",
        "How many nights may I stay?",
        "Who is the mayor of Lisbon?",
        "病假有几天？",
        "谁是市长？",
    ],
)
def test_what_only_sounds_alike_is_refused(question: str) -> None:
    assert ask(question).refused


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (
            "Who covers small repairs?",
            "I did not find it in the documents. Nearest passage (0.txt): “The landlord pays",
        ),
        ("病假有几天？", "我在文档里没有找到。最接近的段落（2.txt）：“病假需要医院证明。”"),
    ],
)
def test_a_refusal_says_what_it_knows_and_shows_what_came_nearest(question: str, said: str) -> None:
    found = hits(LEASE, TRAVEL, LEAVE)
    reply = quote_answer(question, found)
    assert said in reply.text
    assert reply.refused
    sources = [make_source(each, reply) for each in found]
    assert not any(source.cited for source in sources)
    places = [each.text[source.start : source.end] for each, source in zip(found, sources, strict=True)]
    assert [f"“{place}”" in reply.text for place in places].count(True) == 1


def test_nothing_near_is_not_shown() -> None:
    assert ask("Who is the mayor of Lisbon?").text == "I do not know: I did not find it in the documents."
    assert quote_answer("Who is the mayor of Lisbon?", []).text.startswith(
        "I do not know: I did not find it in the documents"
    )


def test_a_short_sentence_is_no_title_of_the_next() -> None:
    found = hits(("Projects", "Tomas Reyes leads the migration project. The migration starts on 4 March.", "End"))
    assert quote_answer("Who leads the migration project?", found).text.startswith("Tomas Reyes leads")
