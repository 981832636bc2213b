"""Quoting: an answer without a model. The sentences of the found chunks that say most of what the question asks, as
they stand, each with its citation and its exact place; nothing, if none says enough. Pure.

A sentence is judged as the chat judges a turn: by the question's words in it, each weighed by how rare it is. A word
that only stands around it (in the heading above, in the names of the columns, in the sentence before) counts for less.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from recollect.hosts.chat.answers import FRAME
from recollect.hosts.documents.asking import Place, Recollection, Reply
from recollect.model.document_search import ChunkHit
from recollect.model.sentences import sentences
from recollect.model.text import is_cjk, lexemes

# Of the worth of a question's words, that a sentence must have: more than a turn, since documents have words for much.
LEAST_SHARE = 0.6
LEAST_MEMORY = 0.6  # score from which a memory answers what no document does
MOST_QUOTES = 3
NEARLY = 0.85  # of the best sentence's share, that another must have to be quoted too
QUOTE_CHARS = 600
OWN = 0.65  # of a follow-up's worth, in the words that were said now
LEAST_SENTENCES = 20  # with fewer, a word's rarity says too much
ABOVE, BEFORE, LEADS_IN = 0.6, 0.4, 0.9  # what a word counts that is not in the sentence itself
ABBREVIATIONS = frozenset(("e.g", "i.e", "etc", "vs", "cf", "no", "fig", "approx", "dr", "mr", "mrs", "st", "inc"))
WRAPPED = re.compile(r"(?<![.:!?;|\n])\n(?=[a-z(])")  # a line end inside a sentence
# How a question asks, which no answer repeats.
ASKING = re.compile(
    r"\bhow (?:much|many|long|often|far|large|big|do|does|can|should|is|are)\b|\bwhat (?:kinds?|sorts?|types?) of\b"
    r"|\b(?:does|do) (?:it|they|you|i|we|one) (?:mean|say|happen)\b|\b(?:tell me|explain|describe|please|happens?)\b",
    re.IGNORECASE,
)
UNKNOWN = "I do not know: the documents do not say."
NOTHING = "I do not know: no document that has been read speaks to it."
REMEMBERED = "The documents do not say. Remembered: “{text}” [{id}]"
UNKNOWN_ZH = "我不知道：文档里没有提到。"
NOTHING_ZH = "我不知道：没有已读入的文档提到这个。"
REMEMBERED_ZH = "文档里没有提到。记忆中有：“{text}” [{id}]"


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a chunk; `share` is how much of the question it answers."""

    hit: ChunkHit
    rank: int
    place: Place  # in the document
    text: str
    share: float


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence before it is judged: its words, and those around it with what they count."""

    place: Place  # in the chunk
    words: frozenset[str]
    around: Mapping[str, float]


def quoted(
    question: str, hits: Sequence[ChunkHit], memories: Sequence[Recollection] = (), asked: str | None = None
) -> Reply:
    """`asked` is the question in the user's words, where that is another: what he says now counts for most."""
    chosen = telling(question, hits, asked or question)
    if chosen:
        lines = [f"{each.text} ({each.hit.source})" for each in chosen]
        return Reply("\n".join(lines), {each.hit.source: each.place for each in reversed(chosen)})
    told = next((each for each in memories if each.score >= LEAST_MEMORY), None)
    if told is not None:
        said = (REMEMBERED_ZH if is_cjk(question) else REMEMBERED).format(text=told.preview, id=told.id)
        return Reply(said, {}, memory=told.id)
    return Reply(refusal(question, bool(hits)), {})


def refusal(question: str, is_any: bool) -> str:
    if is_cjk(question):
        return UNKNOWN_ZH if is_any else NOTHING_ZH
    return UNKNOWN if is_any else NOTHING


def telling(question: str, hits: Sequence[ChunkHit], asked: str) -> list[Sentence]:
    """The sentences to quote, the best first."""
    judged = sorted(judge(question, hits, asked), key=lambda each: (-round(each.share, 2), each.rank, each.place.start))
    if not judged or judged[0].share < LEAST_SHARE:
        return []
    least = max(LEAST_SHARE, NEARLY * judged[0].share)
    chosen: dict[str, Sentence] = {}
    for each in judged:
        if each.share >= least:
            chosen.setdefault(" ".join(each.text.split()).casefold(), each)
    return list(chosen.values())[:MOST_QUOTES]


def judge(question: str, hits: Sequence[ChunkHit], asked: str) -> Iterator[Sentence]:
    lines = [(rank, hit, line) for rank, hit in enumerate(hits) for line in lines_of(hit)]
    wanted = lexemes(ASKING.sub(" ", FRAME.sub(" ", question))) or lexemes(question)
    worth = weighed(worths(wanted, [line for _, _, line in lines]), lexemes(asked))
    for rank, hit, line in lines:
        share = sum(worth[word] * counts(line, word) for word in worth)
        if share:
            yield sentence(hit, rank, line, share)


def weighed(worth: Mapping[str, float], asked: Collection[str]) -> dict[str, float]:
    """As parts of one. Of a follow-up, the words that were said now are OWN of it, those carried over the rest."""
    now = {word: value for word, value in worth.items() if word in asked}
    if not now or len(now) == len(worth):
        return parts(worth, 1.0)
    carried = {word: value for word, value in worth.items() if word not in asked}
    return parts(now, OWN) | parts(carried, 1 - OWN)


def parts(worth: Mapping[str, float], whole: float) -> dict[str, float]:
    total = sum(worth.values()) or 1.0
    return {word: whole * value / total for word, value in worth.items()}


def counts(line: Line, word: str) -> float:
    return 1.0 if word in line.words else line.around.get(word, 0.0)


def worths(wanted: Counter[str], lines: Sequence[Line]) -> dict[str, float]:
    """How rare each word of the question is among the sentences; one that none has is worth the most."""
    many = max(len(lines), LEAST_SENTENCES)
    having = {word: sum(word in line.words for line in lines) for word in wanted}
    return {word: math.log(1 + (many - n + 0.5) / (n + 0.5)) for word, n in having.items()}


def sentence(hit: ChunkHit, rank: int, line: Line, share: float) -> Sentence:
    start, end = line.place.start, min(line.place.end, line.place.start + QUOTE_CHARS)
    text = WRAPPED.sub(" ", hit.chunk.text[start:end])
    return Sentence(hit, rank, Place(hit.chunk.start + start, hit.chunk.start + end), text, share)


def lines_of(hit: ChunkHit) -> Iterator[Line]:
    """Sentences that say something; a heading, or a question in a list of them, leads in the next one."""
    chunk = hit.chunk
    above = dict.fromkeys(lexemes(" ".join((hit.document.title, *chunk.headings, chunk.lead))), ABOVE)
    headings = {heading.strip() for heading in chunk.headings}
    around = dict(above)
    text = WRAPPED.sub(" ", chunk.text)
    for start, end in sentences(text, ABBREVIATIONS):
        words = frozenset(lexemes(text[start:end]))
        leads_in = text[start:end].strip() in headings or text[start:end].endswith(("?", "？", ":", "："))
        if leads_in:
            around = around | dict.fromkeys(words, LEADS_IN)
            continue
        yield Line(Place(start, end), words, around)
        around = dict.fromkeys(words, BEFORE) | above
