"""Quoting: an answer without a model. The sentences of the found chunks that say most of what the question asks, as
they stand, each with its citation and its exact place; nothing, if none says enough. Pure.

A sentence is judged as the chat judges a turn: by the question's words in it, each weighed by how rare it is. A word
that only stands around it (in the heading above, in the names of the columns, in the sentence before) counts for less.
A refusal says that nothing was found, not that nothing is there, and shows the sentence that came nearest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from recollect.hosts.documents.asking import Place, Recollection, Reply
from recollect.hosts.documents.wanting import NUMBER, WANTS_NUMBER, wanted, weighed, worths
from recollect.model.document_search import ChunkHit
from recollect.model.sentences import sentences
from recollect.model.text import is_cjk, lexemes

# Of the worth of a question's words, that a sentence must have: more than a turn, since documents have words for much.
LEAST_SHARE = 0.6
LEAST_NEAR = 0.25  # from which a sentence is shown beside a refusal
LEAST_MEMORY = 0.6  # score from which a memory answers what no document does
MOST_QUOTES = 3
NEARLY = 0.85  # of the best sentence's share, that another must have to be quoted too
QUOTE_CHARS = 600
NUMBERLESS = 0.55  # what a sentence without a number counts where one is asked for
TITLE = 0.75  # what a line counts that seems to be a title of what follows
ABOVE, BEFORE, LEADS_IN = 0.6, 0.4, 0.9  # what a word counts that is not in the sentence itself
ABBREVIATIONS = frozenset(("e.g", "i.e", "etc", "vs", "cf", "no", "fig", "approx", "dr", "mr", "mrs", "st", "inc"))
WRAPPED = re.compile(r"(?<![.:!?;|\n])\n(?=[a-z(])")  # a line end inside a sentence
ROW = " | "
TITLED = re.compile(r"(?=\D{2,60}$)[^\s:;|,=(]+(?: [^\s:;|,=(]+){0,5}")
# Words were looked for, and nothing was understood: that the documents do not say it is more than we can know.
UNKNOWN = "I do not know: I did not find it in the documents."
NOTHING = "I do not know: I did not find it in the documents that have been read."
NEAREST = "{unknown} Nearest passage ({where}): “{text}”"
REMEMBERED = "I did not find it in the documents. Remembered: “{text}” [{id}]"
UNKNOWN_ZH = "我不知道：我在文档里没有找到。"
NOTHING_ZH = "我不知道：我在已读入的文档里没有找到。"
NEAREST_ZH = "{unknown}最接近的段落（{where}）：“{text}”"
REMEMBERED_ZH = "我在文档里没有找到。记忆中有：“{text}” [{id}]"


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
    factor: float = 1.0


def quoted(
    question: str, hits: Sequence[ChunkHit], memories: Sequence[Recollection] = (), asked: str | None = None
) -> Reply:
    """`asked` is the question in the user's words, where that is another: what he says now counts for most."""
    judged = sorted(
        judge(question, hits, asked or question), key=lambda each: (-round(each.share, 2), each.rank, each.place.start)
    )
    chosen = telling(judged)
    if chosen:
        lines = [f"{each.text} ({each.hit.source})" for each in chosen]
        return Reply("\n".join(lines), {each.hit.source: each.place for each in reversed(chosen)})
    told = next((each for each in memories if each.score >= LEAST_MEMORY and is_about(each.text, question)), None)
    if told is not None:
        said = (REMEMBERED_ZH if is_cjk(question) else REMEMBERED).format(text=told.preview, id=told.id)
        return Reply(said, {}, memory=told.id)
    near = next((each for each in judged if each.share >= LEAST_NEAR), None)
    return refusal(question, near, bool(hits))


def is_about(memory: str, question: str) -> bool:
    """It has every word that is asked for: the rent of Seville is no answer to what Malmo's is."""
    return set(wanted(question)) <= set(lexemes(memory))


def refusal(question: str, near: Sentence | None, is_any: bool) -> Reply:
    """Names no passage as a citation, since it rests on none; the nearest is named as a person would."""
    is_chinese = is_cjk(question)
    unknown, nothing, nearest = (UNKNOWN_ZH, NOTHING_ZH, NEAREST_ZH) if is_chinese else (UNKNOWN, NOTHING, NEAREST)
    if near is None:
        return Reply(unknown if is_any else nothing, {})
    said = nearest.format(unknown=unknown, where=where(near, is_chinese), text=" ".join(near.text.split()))
    return Reply(said, {}, near=(near.hit.source, near.place))


def where(said: Sentence, is_chinese: bool) -> str:
    title, (page, page_end) = said.hit.document.title, said.hit.chunk.pages(said.place.start, said.place.end)
    if page is None or page != page_end:
        return title
    return f"{title}，第 {page} 页" if is_chinese else f"{title}, page {page}"


def telling(judged: Sequence[Sentence]) -> list[Sentence]:
    """The sentences to quote, of all in their order."""
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
    worth = weighed(worths(question, [line.words for _, _, line in lines]), lexemes(asked))
    wants_number = WANTS_NUMBER.search(question) is not None
    for rank, hit, line in lines:
        share = line.factor * sum(worth[word] * counts(line, word) for word in worth)
        if share:
            said = sentence(hit, rank, line, share)
            yield said if not wants_number or NUMBER.search(said.text) else replace(said, share=share * NUMBERLESS)


def counts(line: Line, word: str) -> float:
    return 1.0 if word in line.words else line.around.get(word, 0.0)


def sentence(hit: ChunkHit, rank: int, line: Line, share: float) -> Sentence:
    start, end = line.place.start, min(line.place.end, line.place.start + QUOTE_CHARS)
    text = WRAPPED.sub(" ", hit.chunk.text[start:end])
    return Sentence(hit, rank, Place(hit.chunk.start + start, hit.chunk.start + end), text, share)


def lines_of(hit: ChunkHit) -> Iterator[Line]:
    """Sentences that say something; a heading, or a question in a list of them, leads in the next one, and a row that
    names the columns stands above those that follow it."""
    chunk = hit.chunk
    above = dict.fromkeys(lexemes(" ".join((hit.document.title, *chunk.headings, chunk.lead))), ABOVE)
    headings = {heading.strip() for heading in chunk.headings}
    around, columns = dict(above), dict[str, float]()
    text = WRAPPED.sub(" ", chunk.text)
    for start, end in sentences(text, ABBREVIATIONS):
        said = text[start:end]
        words = frozenset(lexemes(said))
        is_row = ROW in said
        if said.strip() in headings or said.endswith(("?", "？", ":", "：")):
            around = around | dict.fromkeys(words, LEADS_IN)
            continue
        names_columns = is_row and not columns and not chunk.lead
        is_title = names_columns or titles(text, start, end)
        yield Line(Place(start, end), words, columns | around, TITLE if is_title else 1.0)
        columns = dict.fromkeys(words, ABOVE) if names_columns else columns if is_row else {}
        around = around | dict.fromkeys(words, LEADS_IN) if is_title else dict.fromkeys(words, BEFORE) | above


def titles(text: str, start: int, end: int) -> bool:
    """Whether a line is a title that its author did not mark: few words without a number, alone on a line or at the
    beginning of one, and something follows."""
    line = text.rfind("\n", 0, start) + 1
    if text[line:start].strip() or not text[end:].strip() or not TITLED.fullmatch(text[start:end]):
        return False
    return text[end:].startswith("\n\n") != text[start:end].endswith(".")
