"""Chunks are exact ranges of the canonical text, hold their limits, and follow the document's own structure."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Iterator
from itertools import accumulate, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.recall.lexemes import count_tokens
from recollect.values.document import FAILURE_MESSAGES, Block, Chunk, Failure
from tests.bounds import bound
from tests.canonical_text import iter_canonical_text, split_chunks

ALPHABET = "ab cd. EF! 12;\n\t，。记忆对话？é\u0301👩\u200d💻🏽…|"
TEXTS = st.one_of(
    st.text(ALPHABET, max_size=400),
    st.text(max_size=60),
    st.sampled_from(["x" * 900, "记" * 700, "word " * 300, " " * 500, "a.\n" * 200]),
)
BLOCKS = st.builds(
    Block,
    text=TEXTS,
    kind=st.sampled_from(["heading", "paragraph", "row", "code", "list"]),
    level=st.integers(0, 6),
    page=st.none() | st.integers(1, 9),
)
DOCUMENTS = st.lists(BLOCKS, max_size=12)
SIZES = st.integers(8, 120).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size // 2)))


@given(DOCUMENTS, SIZES)
@settings(max_examples=bound(100, 2_000), deadline=None)
def test_a_chunk_is_exactly_its_range_and_within_its_size(blocks: list[Block], sizes: tuple[int, int]) -> None:
    size, overlap = sizes
    text = "".join(iter_canonical_text(blocks))
    for index, chunk in enumerate(split_chunks(blocks, size=size, overlap=overlap)):
        assert chunk.index == index
        assert chunk.text
        assert text[chunk.start : chunk.end] == chunk.text == chunk.text.strip()
        assert chunk.tokens == count_tokens(chunk.text) <= size


@given(DOCUMENTS, SIZES)
@settings(max_examples=bound(100, 2_000), deadline=None)
def test_nothing_is_left_out_and_no_more_than_the_overlap_is_said_twice(
    blocks: list[Block], sizes: tuple[int, int]
) -> None:
    text, at = "".join(iter_canonical_text(blocks)), 0
    for chunk in split_chunks(blocks, size=sizes[0], overlap=sizes[1]):
        assert not text[at : chunk.start].strip()
        assert chunk.end > at
        assert count_tokens(text[chunk.start : at]) <= sizes[1]
        at = chunk.end
    assert not text[at:].strip()


@given(st.lists(st.sampled_from(["e\u0301", "👩\u200d💻", "✋🏽", "n\u0303", "记", "a", " ", "! "]), max_size=300))
@settings(deadline=None)
def test_what_a_reader_sees_as_one_character_is_never_cut(characters: list[str]) -> None:
    text = "".join(characters)
    places = {0, *accumulate(map(len, characters))}
    for chunk in split_chunks([Block(text)], size=40, overlap=10):
        assert text[: chunk.start].isspace() or chunk.start in places
        assert chunk.end in places or text[chunk.end :].startswith(" ")


def prose(words: int, start: int = 0) -> str:
    """Sentences of ten words, each with a number of its own."""
    return " ".join(f"Sentence {start + i} says eight more plain words after that." for i in range(words // 10))


def cut(*blocks: Block) -> list[Chunk]:
    return list(split_chunks(blocks))


def test_a_chunk_knows_its_headings_and_its_pages() -> None:
    found = cut(
        Block("Policy", "heading", 1, 1),
        Block("Retention", "heading", 2, 1),
        Block(prose(500), page=1),
        Block("Deletion", "heading", 2, 2),
        Block(prose(400, 50), page=2),
        Block(prose(300, 90), page=3),
        Block("Contact", "heading", 1, 4),
        Block("Ask the archive.", page=4),
    )
    assert [(chunk.headings, chunk.page, chunk.page_end) for chunk in found] == [
        (("Policy", "Retention"), 1, 1),
        (("Policy", "Deletion"), 2, 3),
        (("Contact",), 4, 4),
    ]
    second = found[1]
    later = second.start + second.breaks[0]
    assert (second.pages(second.start, later - 2), second.pages(later, second.end)) == ((2, 2), (3, 3))
    assert second.pages(second.start, second.end) == (2, 3)
    assert second.text[second.breaks[0] :] == prose(300, 90)


def test_a_page_without_text_is_counted() -> None:
    [chunk] = cut(Block("One.", page=1), Block("Three.", page=3), Block("Three again.", page=3))
    assert (chunk.breaks, chunk.pages(chunk.end - 6, chunk.end), chunk.pages(0, 4)) == ((6, 6), (3, 3), (1, 1))


def test_a_paragraph_longer_than_a_chunk_is_cut_between_sentences() -> None:
    found = cut(Block(prose(3000)))
    assert len(found) > 3
    assert all(chunk.text.startswith("Sentence ") and chunk.text.endswith("that.") for chunk in found)


def test_long_chinese_text_is_cut_between_sentences() -> None:
    found = cut(Block("客户在五月签署了新的合同，并要求我们保留全部记录。" * 200))
    assert len(found) > 3
    assert all(chunk.text.startswith("客户") and chunk.text.endswith("。") for chunk in found)


def test_a_part_of_a_table_carries_the_row_that_names_the_columns() -> None:
    rows = [Block(f"customer {i} | region {i % 7} | {i * 13}", "row") for i in range(500)]
    first, *rest = cut(Block("Customer | Region | Revenue", "row", 1), *rows)
    assert first.lead == ""
    assert first.text.startswith("Customer | Region | Revenue\ncustomer 0")
    assert rest
    assert all(chunk.lead == "Customer | Region | Revenue" for chunk in rest)
    assert all(chunk.text.startswith("customer ") for chunk in rest)
    assert all(set(a.text.split("\n")) & set(b.text.split("\n")) for a, b in pairwise([first, *rest]))


def test_a_heading_stays_with_what_follows_it_and_nothing_before_it_is_repeated() -> None:
    found = cut(Block(prose(600)), Block("Deletion", "heading", 1), Block(prose(600, 100)))
    assert [chunk.text.split("\n")[0] for chunk in found if "Deletion" in chunk.text] == ["Deletion"]
    assert not any(chunk.text.endswith("Deletion") for chunk in found)


def test_the_lead_ends_with_the_table() -> None:
    found = cut(Block("A | B", "row", 1), Block("1 | 2", "row"), Block(prose(3000)))
    assert [chunk.lead for chunk in found[1:]] == [""] * (len(found) - 1)


@pytest.mark.parametrize(("size", "overlap"), [(1, 0), (100, 51), (100, -1)])
def test_sizes_that_cannot_work_are_refused(size: int, overlap: int) -> None:
    with pytest.raises(ValueError, match="cannot overlap"):
        list(split_chunks([], size=size, overlap=overlap))


def test_a_long_document_is_never_held_as_a_whole() -> None:
    chooser = random.Random(7)

    def blocks() -> Iterator[Block]:
        for i in range(800):
            yield Block(prose(chooser.randrange(20, 600), i * 100))

    tracemalloc.start()
    characters = sum(len(chunk.text) for chunk in split_chunks(blocks()))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert characters > 1_000_000
    assert peak < 200_000


def test_every_reason_tells_a_person_what_to_do() -> None:
    for reason, sentence in FAILURE_MESSAGES.items():
        assert Failure(reason).sentence == sentence
        assert sentence.endswith(".")
        assert sentence.count(". ") >= 1
