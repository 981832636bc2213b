"""Search documents: the chunks that speak to a question, in the user's documents and the project's, each with why.

Read the question and embed it once; one round trip per scope names candidates by words and by meaning; one completes
their cosines; model/document_rank.py decides; a last one brings the texts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from recollect.flows.documents import holder_of, owners
from recollect.flows.parts import Parts
from recollect.model.candidates import Floats, Ints
from recollect.model.document import Chunk
from recollect.model.document_rank import (
    CANDIDATES,
    Ranked,
    Words,
    arms,
    best_by_words,
    by_words,
    ranked,
    unheard,
    varied,
)
from recollect.model.document_search import ChunkHit, DocumentQuery
from recollect.model.ids import ScopeId
from recollect.model.lesson import Owner
from recollect.model.library import Document, DocumentId
from recollect.model.postings import Shelf
from recollect.model.question import Question, read_question
from recollect.model.scope import Scope
from recollect.model.spelling import SIMILAR, with_spellings
from recollect.store.chunks import ChunkArms, ChunkKey, Shelved, postings_on, shelf_of

VARIED = 50  # candidates among which variety is looked for
Near = tuple[float, Floats | None]  # a chunk's cosine and, where asked for, its vector


@dataclass(frozen=True, slots=True)
class Looked:
    """What the arms named, in all scopes together."""

    arms: ChunkArms
    holders: Sequence[tuple[ScopeId, Owner]]
    found: Sequence[Shelved]  # per holder
    shelf: Shelf
    words: Words


async def search_documents(parts: Parts, scope: Scope, query: DocumentQuery) -> list[ChunkHit]:
    question = read_question(query.text)
    vector, model, _ = await parts.embedding.question(query.text, scope.id)
    holders = [(holder_of(scope, owner), owner) for owner in owners(query.owner)]
    only = cast("tuple[DocumentId, ...] | None", query.documents)

    looked = await look(parts, holders, ChunkArms(question.lexemes, vector, model, only, CANDIDATES))
    if misspelt := unheard(question, looked.words):
        question, looked = await look_again(parts, looked, question, misspelt)

    chunk, near = await candidates(parts, looked, query.mmr is not None)
    found = ranked(looked.words, chunk, np.array([near[number][0] for number in chunk.tolist()]))
    rows = choose(found, near, query)

    texts = await texts_of(parts, looked, found.chunk[rows].tolist())
    keys = {row: looked.shelf.key(int(found.chunk[row])) for row in rows}
    return [hit(looked, found, row, question, texts[key]) for row, key in keys.items() if key in texts]


async def look(parts: Parts, holders: Sequence[tuple[ScopeId, Owner]], wanted: ChunkArms) -> Looked:
    found = await asyncio.gather(*(parts.store.chunks.search(holder, wanted) for holder, _ in holders))
    shelf = shelf_of(found)
    return Looked(wanted, holders, found, shelf, by_words(shelf, postings_on(shelf, found), wanted.terms))


async def look_again(
    parts: Parts, looked: Looked, question: Question, misspelt: Sequence[str]
) -> tuple[Question, Looked]:
    """With the words that the documents have, where there are similar ones."""
    similar: dict[str, str] = {}
    for holder, _ in looked.holders:
        similar |= await parts.store.chunks.words_like(holder, misspelt, SIMILAR)
    if not similar:
        return question, looked
    question = with_spellings(question, similar)
    # What was found the first time, by other words and by meaning, stays.
    new = replace(looked.arms, terms=sorted({*similar.values()} - {*looked.arms.terms}), vector=None)
    reading = (
        parts.store.chunks.more_words(holder, new, old)
        for (holder, _), old in zip(looked.holders, looked.found, strict=True)
    )
    found = await asyncio.gather(*reading)
    words = by_words(looked.shelf, postings_on(looked.shelf, found), question.lexemes)
    return question, replace(looked, found=found, words=words)


async def candidates(parts: Parts, looked: Looked, whole: bool) -> tuple[Ints, dict[int, Near]]:
    """The numbers of the chunks that either arm named, and how near each is."""
    near: dict[int, Near] = {}
    for each in looked.found:
        for document, index, cosine in each.nearest:
            if (number := looked.shelf.number(document, index)) is not None:
                near[number] = (cosine, None)
    chunk = np.union1d(best_by_words(looked.words), np.fromiter(near, np.int64, len(near))).astype(np.int64)
    if looked.arms.vector is not None:
        missing = [number for number in chunk.tolist() if whole or number not in near]
        near |= await nearness(parts, looked, missing, whole)
    return chunk, {number: near.get(number, (np.nan, None)) for number in chunk.tolist()}


async def nearness(parts: Parts, looked: Looked, numbers: Sequence[int], whole: bool) -> dict[int, Near]:
    near: dict[int, Near] = {}
    for n, keys in looked.shelf.by_holder(numbers).items():
        found = await parts.store.chunks.cosines(looked.holders[n][0], keys, looked.arms, whole)
        near |= {number: found[key] for key in found if (number := looked.shelf.number(*key)) is not None}
    return near


def choose(found: Ranked, near: Mapping[int, Near], query: DocumentQuery) -> list[int]:
    """Rows of the candidates, in the order in which they are given."""
    most = min(query.limit, len(found.chunk))
    vectors = [near[number][1] for number in found.chunk[: max(VARIED, most)].tolist()]
    lengths = [len(vector) for vector in vectors if vector is not None]
    if query.mmr is None or not lengths:
        return list(range(most))
    table = np.stack([np.zeros(lengths[0]) if vector is None else vector for vector in vectors])
    return varied(found.score[: len(vectors)], table, query.limit, query.mmr)


async def texts_of(parts: Parts, looked: Looked, numbers: Sequence[int]) -> dict[ChunkKey, tuple[Document, Chunk]]:
    texts: dict[ChunkKey, tuple[Document, Chunk]] = {}
    for n, keys in looked.shelf.by_holder(numbers).items():
        texts |= await parts.store.chunks.chosen(*looked.holders[n], keys)
    return texts


def hit(looked: Looked, found: Ranked, row: int, question: Question, text: tuple[Document, Chunk]) -> ChunkHit:
    opinions, matched = arms(looked.words, found, row, question.respelt)
    return ChunkHit(
        *text,
        score=round(float(found.score[row]), 4),
        arms=opinions,
        parts={"bm25": round(float(found.words[row]), 4), "vector": round(float(found.meaning[row]), 4)},
        words=tuple(question.surface.get(word, word) for word in matched),
    )
