"""Searching documents: by words, by meaning, by spelling, within some of them, and with why."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace

import numpy as np
import pytest

from recollect import DocumentQuery, Engine, InvalidInput, Scope, Upload, connect
from recollect.providers.fake import FakeEmbedder
from recollect.recall.document_rank import vary_chunks
from recollect.recall.spelling import beginnings, second_letters
from recollect.settings import Settings
from tests.citus_database import CITUS, emptied
from tests.copied_database import copied, name_of

ALEX, BLAKE = Scope("alex"), Scope("blake")
FILES = {
    "car.md": "# Workshop\n\n## Tyres\n\nA tyre change costs 80 euros.\n\n## Service\n\nA service costs 240 euros.",
    "bees.md": "# Beekeeping\n\nA colony swarms in May.\n\n# Honey\n\nHoney is harvested in July.",
    "张.txt": "客户的记录保留十年。\n\n发票在六年之后销毁。",
    "leave.csv": "country,days of leave\nFrance,25\nGermany,30\n",
}


@pytest.fixture(scope="module")
def library(server: str, template: str) -> Iterator[str]:
    """A database in which all files are read, to be copied."""
    with copied(server, template) as dsn:
        asyncio.run(read_all(dsn))
        yield name_of(dsn)


async def read_all(dsn: str) -> None:
    async with connect(dsn=dsn, worker=False) as memory:
        for name, text in FILES.items():
            await memory.documents.add(ALEX, Upload(name, text.encode()), owner="project")
        await memory.documents.add(ALEX, Upload("diary.txt", b"My own hive is on the roof. Its queen is called Anna."))
        await memory.settle(ALEX)


@pytest.fixture
def filled(request: pytest.FixtureRequest, server: str) -> Iterator[str]:
    """The DSN of this test's own database in which all files are read."""
    if CITUS:
        with emptied(CITUS) as dsn:
            asyncio.run(read_all(dsn))
            yield dsn
    else:
        with copied(server, request.getfixturevalue("library")) as dsn:
            yield dsn


@pytest.fixture
async def engine(filled: str) -> AsyncIterator[Engine]:
    """With the embedder that users get: what is found depends on it."""
    async with connect(dsn=filled, worker=False) as memory:
        yield memory


@pytest.mark.parametrize(
    ("question", "source", "arm"),
    [
        ("How much is a tyre change?", "car.md", "bm25"),
        ("when do bees swarm", "bees.md", "bm25"),
        ("发票什么时候销毁？", "张.txt", "bm25"),
        ("days of leave in Germany", "leave.csv", "bm25"),
        ("harvsted colny", "bees.md", "trigram"),
        ("hrvested", "bees.md", "trigram"),
        ("haarvested", "bees.md", "trigram"),
        ("insects and nectar", "bees.md", "vector"),
    ],
)
async def test_a_question_finds_the_document_that_answers_it(
    engine: Engine, question: str, source: str, arm: str
) -> None:
    best = (await engine.documents.search(ALEX, question))[0]

    assert (best.document.source, best.owner) == (source, "project")
    assert arm in best.arms
    assert best.score == pytest.approx(sum(best.parts.values()), abs=0.001)


async def test_a_hit_says_why_and_where(engine: Engine) -> None:
    hit = (await engine.documents.search(ALEX, "tyre change"))[0]

    assert hit.arms["bm25"].rank == 1
    assert hit.words == ("tyre", "change")
    assert hit.why.startswith("words tyre, change (#1 by words); meaning 0.")
    assert hit.source == f"Doc {hit.document.id}/Chunk 0"
    assert (hit.chunk.headings, hit.chunk.start) == (("Workshop", "Tyres"), 0)


async def test_everybody_finds_the_project_s_documents_and_only_his_own_beside(engine: Engine) -> None:
    def sources(hits: list) -> set[str]:  # type: ignore[type-arg]
        return {hit.document.source for hit in hits}

    asked = "hive queen Anna, honey harvested"
    assert {"diary.txt", "bees.md"} <= sources(await engine.documents.search(ALEX, asked))
    assert "diary.txt" not in sources(await engine.documents.search(BLAKE, asked))
    assert sources(await engine.documents.search(ALEX, DocumentQuery(asked, owner="user"))) == {"diary.txt"}
    assert await engine.documents.search(Scope("alex", project="bank"), asked) == []


async def test_a_search_keeps_to_the_documents_it_is_told(engine: Engine) -> None:
    named = {document.source: document.id for document in await engine.documents.find(ALEX)}

    [hit] = await engine.documents.search(ALEX, DocumentQuery("honey euros", documents=(str(named["car.md"]),)))
    assert hit.document.source == "car.md"
    assert await engine.documents.search(ALEX, DocumentQuery("honey", documents=())) == []


async def test_what_is_not_read_yet_is_not_found(engine: Engine) -> None:
    await engine.documents.add(ALEX, Upload("new.txt", b"Zeppelins are moored on Thursday."))
    assert [hit for hit in await engine.documents.search(ALEX, "zeppelin") if "Zepp" in hit.text] == []

    await engine.settle(ALEX)
    assert (await engine.documents.search(ALEX, "zeppelin"))[0].text == "Zeppelins are moored on Thursday."


async def test_without_an_embedder_words_find(settings: Settings) -> None:
    async with connect(replace(settings, embedder="none"), worker=False) as memory:
        await memory.documents.add(ALEX, Upload("car.md", FILES["car.md"].encode()))
        await memory.settle(ALEX)

        [hit] = await memory.documents.search(ALEX, DocumentQuery("tyre", mmr=0.5))
        assert set(hit.arms) == {"bm25"}
        assert await memory.documents.search(ALEX, "zeppelin") == []


async def test_an_embedder_that_was_away_costs_vectors_for_a_while(settings: Settings) -> None:
    embedder = FakeEmbedder()
    async with connect(settings, embedder=embedder, worker=False) as memory:
        await memory.settle(ALEX)
        embedder.failing = True
        added = await memory.documents.add(ALEX, Upload("car.md", FILES["car.md"].encode()))
        await memory.settle(ALEX)
        assert (await memory.documents.get(ALEX, added.id)).status == "processed"
        [hit] = await memory.documents.search(ALEX, "tyre")
        assert set(hit.arms) == {"bm25"}

        embedder.failing = False
        await memory.settle(ALEX)
        [hit] = await memory.documents.search(ALEX, "tyre")
        assert set(hit.arms) == {"bm25", "vector"}


async def test_another_embedder_gets_vectors_of_its_own(settings: Settings) -> None:
    for name in ("first", "second"):
        async with connect(settings, embedder=FakeEmbedder(name), worker=False) as memory:
            await memory.documents.add(ALEX, Upload("car.md", FILES["car.md"].encode()))
            await memory.settle(ALEX)
            [hit] = await memory.documents.search(ALEX, "tyre")
            assert set(hit.arms) == {"bm25", "vector"}


async def test_variety_prefers_another_document_to_the_same_words_again(engine: Engine) -> None:
    for n in range(3):
        text = f"A tyre change costs 80 euros. Ask for it at the desk. Copy {n}."
        await engine.documents.add(ALEX, Upload(f"copy{n}.txt", text.encode()))
    await engine.settle(ALEX)
    question = "what does a tyre change cost, where do I ask for it"

    plain = await engine.documents.search(ALEX, DocumentQuery(question, limit=2))
    mixed = await engine.documents.search(ALEX, DocumentQuery(question, limit=2, mmr=0.5))

    assert mixed[0].source == plain[0].source
    assert len([hit for hit in mixed if "Copy" in hit.text]) < len([hit for hit in plain if "Copy" in hit.text])


@pytest.mark.parametrize("wrong", ["hqrvest", "hrvest", "hqarvest", "hravest"])
def test_a_wrong_second_letter_is_looked_up(wrong: str) -> None:
    assert "harvest" in second_letters(wrong)
    assert len({*second_letters(wrong)}) <= 53


def test_what_begins_like_a_word_is_looked_at_the_nearest_first() -> None:
    assert beginnings(["harvest", "harbour", "colony"]) == ["har", "col", "ha", "co"]


def test_variety_of_nothing_is_nothing_and_of_equals_their_order() -> None:
    assert vary_chunks(np.zeros(0), np.zeros((0, 4)), 3, 0.5) == []
    assert vary_chunks(np.array([3.0, 2.0, 1.0]), np.zeros((3, 4)), 2, 0.5) == [0, 1]
    assert vary_chunks(np.array([1.0, 0.9, 0.5]), np.eye(3)[[0, 0, 1]], 3, 0.5) == [0, 2, 1]


@pytest.mark.parametrize(
    ("field", "values"),
    [("text", {"text": " "}), ("limit", {"limit": 0}), ("mmr", {"mmr": 1.5}), ("documents", {"documents": ("x",)})],
)
def test_a_query_that_makes_no_sense_is_refused(field: str, values: dict[str, object]) -> None:
    with pytest.raises(InvalidInput, match=f"^{field}: "):
        DocumentQuery(**{"text": "tyre", **values})  # type: ignore[arg-type]
