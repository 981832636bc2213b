"""Search documents: find the chunks relevant to a question in the user's and the project's documents, each with an
explanation.

Analyze the question and embed it once; one round trip per scope finds candidates by words and by meaning; one adds
missing cosines; recall/document_rank.py ranks; a last one loads the texts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from recollect.flows.dependencies import Dependencies
from recollect.flows.documents import get_holder_id, list_owners
from recollect.recall.candidates import Floats, Ints
from recollect.recall.document_rank import (
    CANDIDATES,
    Ranked,
    Words,
    accepted_spellings,
    arms,
    best_by_words,
    by_words,
    ranked,
    unheard,
    varied,
)
from recollect.recall.postings import Shelf
from recollect.recall.question import Question, analysed_part, read_question
from recollect.recall.spelling import SIMILAR, with_spellings
from recollect.store.chunks import ChunkArms, ChunkCandidates, ChunkKey, build_shelf, unpack_postings
from recollect.values.blocks import Chunk
from recollect.values.document import ChunkHit, Document, DocumentId, DocumentQuery
from recollect.values.lesson import Owner
from recollect.values.scope import Scope, ScopeId

VARIED = 50  # candidates among which variety is looked for
Near = tuple[float, Floats | None]  # a chunk's cosine and, where asked for, its vector


@dataclass(frozen=True, slots=True)
class DocumentSearch:
    """The candidates of all scopes together."""

    arms: ChunkArms
    holders: Sequence[tuple[ScopeId, Owner]]
    found: Sequence[ChunkCandidates]  # per holder
    shelf: Shelf
    words: Words


async def search_documents(deps: Dependencies, scope: Scope, query: DocumentQuery) -> list[ChunkHit]:
    question = read_question(analysed_part(query.text))
    vector, model, _ = await deps.embedding.embed_question(query.text, scope.id)
    holders = [(get_holder_id(scope, owner), owner) for owner in list_owners(query.owner)]
    only = cast("tuple[DocumentId, ...] | None", query.documents)

    looked = await search_scopes(deps, holders, ChunkArms(question.lexemes, vector, model, only, CANDIDATES))
    if misspelt := unheard(question, looked.words):
        question, looked = await search_similar_words(deps, looked, question, misspelt)

    chunk, near = await load_candidates(deps, looked, query.mmr is not None)
    found = ranked(looked.words, chunk, np.array([near[number][0] for number in chunk.tolist()]))
    rows = choose_rows(found, near, query)

    texts = await load_chunks(deps, looked, found.chunk[rows].tolist())
    keys = {row: looked.shelf.key(int(found.chunk[row])) for row in rows}
    return [build_hit(looked, found, row, question, texts[key]) for row, key in keys.items() if key in texts]


async def search_scopes(
    deps: Dependencies, holders: Sequence[tuple[ScopeId, Owner]], wanted: ChunkArms
) -> DocumentSearch:
    found = await asyncio.gather(*(deps.store.chunks.search(holder, wanted) for holder, _ in holders))
    shelf = build_shelf(found)
    return DocumentSearch(wanted, holders, found, shelf, by_words(shelf, unpack_postings(shelf, found), wanted.terms))


async def search_similar_words(
    deps: Dependencies, looked: DocumentSearch, question: Question, misspelt: Sequence[str]
) -> tuple[Question, DocumentSearch]:
    """Search again with similar words that the documents contain, if there are any."""
    similar: dict[str, str] = {}
    for holder, _ in looked.holders:
        similar |= await deps.store.chunks.find_similar_words(holder, misspelt, SIMILAR)
    similar = accepted_spellings(question, looked.words, similar)
    if not similar:
        return question, looked
    question = with_spellings(question, similar)
    # Results of the first search, by other words and by meaning, stay.
    new = replace(looked.arms, terms=sorted({*similar.values()} - {*looked.arms.terms}), vector=None)
    reading = (
        deps.store.chunks.add_words(holder, new, old)
        for (holder, _), old in zip(looked.holders, looked.found, strict=True)
    )
    found = await asyncio.gather(*reading)
    words = by_words(looked.shelf, unpack_postings(looked.shelf, found), question.lexemes)
    return question, replace(looked, found=found, words=words)


async def load_candidates(deps: Dependencies, looked: DocumentSearch, whole: bool) -> tuple[Ints, dict[int, Near]]:
    """Return the numbers of the chunks that either arm found, and the cosine of each."""
    near: dict[int, Near] = {}
    for each in looked.found:
        for document, index, cosine in each.nearest:
            if (number := looked.shelf.number(document, index)) is not None:
                near[number] = (cosine, None)
    chunk = np.union1d(best_by_words(looked.words), np.fromiter(near, np.int64, len(near))).astype(np.int64)
    if looked.arms.vector is not None:
        missing = [number for number in chunk.tolist() if whole or number not in near]
        near |= await load_cosines(deps, looked, missing, whole)
    return chunk, {number: near.get(number, (np.nan, None)) for number in chunk.tolist()}


async def load_cosines(
    deps: Dependencies, looked: DocumentSearch, numbers: Sequence[int], whole: bool
) -> dict[int, Near]:
    near: dict[int, Near] = {}
    for n, keys in looked.shelf.by_holder(numbers).items():
        found = await deps.store.chunks.load_cosines(looked.holders[n][0], keys, looked.arms, whole)
        near |= {number: found[key] for key in found if (number := looked.shelf.number(*key)) is not None}
    return near


def choose_rows(found: Ranked, near: Mapping[int, Near], query: DocumentQuery) -> list[int]:
    """Return the rows of the candidates to return, in order."""
    most = min(query.limit, len(found.chunk))
    vectors = [near[number][1] for number in found.chunk[: max(VARIED, most)].tolist()]
    lengths = [len(vector) for vector in vectors if vector is not None]
    if query.mmr is None or not lengths:
        return list(range(most))
    table = np.stack([np.zeros(lengths[0]) if vector is None else vector for vector in vectors])
    return varied(found.score[: len(vectors)], table, query.limit, query.mmr)


async def load_chunks(
    deps: Dependencies, looked: DocumentSearch, numbers: Sequence[int]
) -> dict[ChunkKey, tuple[Document, Chunk]]:
    texts: dict[ChunkKey, tuple[Document, Chunk]] = {}
    for n, keys in looked.shelf.by_holder(numbers).items():
        texts |= await deps.store.chunks.load_chunks(*looked.holders[n], keys)
    return texts


def build_hit(
    looked: DocumentSearch, found: Ranked, row: int, question: Question, text: tuple[Document, Chunk]
) -> ChunkHit:
    opinions, matched = arms(looked.words, found, row, question.respelt)
    return ChunkHit(
        *text,
        score=round(float(found.score[row]), 4),
        arms=opinions,
        parts={"bm25": round(float(found.words[row]), 4), "vector": round(float(found.meaning[row]), 4)},
        words=tuple(question.surface.get(word, word) for word in matched),
    )
