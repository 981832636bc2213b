"""Answers by quotation, without a model: the sentences of the found chunks that share most of the question's words,
weighted by rarity, each with its citation and exact range; a refusal if none shares enough. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from recollect.apps.chat.answers import ASKING_WORDS
from recollect.apps.documents.question import Place, Recollection, Reply
from recollect.apps.documents.table_rows import CELL_SEPARATOR as ROW
from recollect.apps.documents.table_rows import find_extreme_rows
from recollect.recall.answer_ranking import QUESTION_WORDS, split_words
from recollect.recall.answer_types import NAME, NUMBER, rate_type, read_wanted
from recollect.recall.lexemes import lexemes
from recollect.recall.sentences import sentences
from recollect.recall.spelling import respell
from recollect.values.document import ChunkHit
from recollect.values.text import WORD, is_cjk

# Of the weight of the question's words that a sentence must have. More than for a turn: documents have more words.
MIN_SHARE = 0.6
MIN_NEAR = 0.22  # share from which a sentence is shown with a refusal
MIN_MEMORY = 0.6  # score from which a memory answers if no document does
MAX_QUOTES = 3
NEAR_BEST = 0.85  # of the best sentence's share, for another to be quoted too
QUOTE_CHARS = 600
NO_TYPE_WEIGHT = {NUMBER: 0.55, NAME: 0.95}  # of a sentence without the number or the name that is asked for
TITLE_WEIGHT = 0.75  # of a line that seems to be a title
HEADING_WEIGHT = 0.6  # of a word in a heading above the sentence
BEFORE_WEIGHT = 0.4  # of a word in the sentence before
LEAD_WEIGHT = 0.9  # of a word in a question or heading that introduces the sentence
ABBREVIATIONS = frozenset(("e.g", "i.e", "etc", "vs", "cf", "no", "fig", "approx", "dr", "mr", "mrs", "st", "inc"))
WRAPPED = re.compile(r"(?<![.:!?;|\n])\n(?=[a-z(])")  # a line end inside a sentence
RUN_IN_WORDS = 3  # of a title on the line of its sentence
TITLED = re.compile(r"(?=\D{2,60}$)[^\s:;|,=(]+(?: [^\s:;|,=(]+){0,5}")
# Only words were searched for, so a refusal must not claim that the documents do not contain the answer.
UNKNOWN = "I do not know: I did not find it in the documents."
NOTHING = "I do not know: I did not find it in the documents that have been read."
NEAREST = "{unknown} Nearest passage ({where}): “{text}”"
REMEMBERED = "I did not find it in the documents. Remembered: “{text}” [{id}]"
UNKNOWN_ZH = "我不知道：我在文档里没有找到。"
NOTHING_ZH = "我不知道：我在已读入的文档里没有找到。"
NEAREST_ZH = "{unknown}最接近的段落（{where}）：“{text}”"
REMEMBERED_ZH = "我在文档里没有找到。记忆中有：“{text}” [{id}]"
OWN_SHARE = 0.65  # of the weight of a follow-up, for the words of the message itself
MIN_SENTENCES = 20  # with fewer, rarity is not reliable
KIND_WEIGHT = 0.5  # for a word that names the kind of thing: "period" in "notice period"
# Words of a question that no answer repeats.
ASKING_FORM = re.compile(
    r"\bhow \w+(?= (?:do|does|did|can|must|should|may|will|is|are|was|were)\b)|\bhow (?:much|many|long|often)\b"
    r"|\bhow (?:do|does|can|should|is|are)\b|\bwhat (?:kinds?|sorts?|types?) of\b"
    r"|\b(?:does|do) (?:it|they|you|i|we|one) (?:mean|say|happen)\b|\b(?:tell me|explain|describe|please|happens?)\b"
    r"|\b(?:may|must|might|shall)(?= (?:i|we|you|one|they|it|he|she|a|an|the|be)\b)"
    r"|\b(?:called|named)(?=\s*\?)|\b(?:is|are) (?:needed|required|necessary)\b"
    r"|几(?:天|个|年|月|日|次|条|位|人|种|点|小时|分钟|元|岁|周)?|多(?:久|长|大|高|远|重)|请问|谁|可以|能不能|是否|需要",
    re.IGNORECASE,
)
# Verbs and adverbs of a question. Documents name the same thing, but say otherwise what is done with it.
DOING = re.compile(
    r"\b(?:i|we|you|they|one|to)\s+(\w+)"
    r"|\b(?:do|does|did|can|must|may|should|will)\s+(?:the |a |an |my |our )?\w+\s+(\w+)"
    r"|\b(?:is|are|was|were|be|been)\b[^?]*?\b(\w+(?:ed|en))\s*\W*$|\b(?:which|what)\s+\w+\s+(?!(?:is|was|does|has)\b)(\w+s)\b|\b(\w+ly)\b",
    re.IGNORECASE,
)
DOING_WEIGHT = 0.25  # of such a word, if no sentence has it
FIRST_CHARS = 30  # of sentences that say as much, the one that names the thing sooner is first
KIND_WORDS = frozenset(lexemes("period duration length amount number name date price time"))
COUNTED = re.compile(r"\bhow many (\w+)", re.IGNORECASE)
NAMED_THING = re.compile(
    r"\b[Ww](?:hat|hich)(?:['’]s| is| are| was| were)?(?: the| a| an| my| our)? (\w+)|\b[Ww]ho (\w+)"
    r"|(?<=[\w,] )([A-Z0-9]\w+)"
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a chunk; `share` is the share of the question's weight that it has."""

    hit: ChunkHit
    rank: int
    place: Place  # in the document
    text: str
    share: float
    names_after: int  # characters before the first of the question's words


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence before scoring: its words, and the words around it with their weights."""

    place: Place  # in the chunk
    words: frozenset[str]
    around: Mapping[str, float]
    factor: float = 1.0


def quote_answer(
    question: str, hits: Sequence[ChunkHit], memories: Sequence[Recollection] = (), asked: str | None = None
) -> Reply:
    """Return the answer. `asked` is the user's own message if it differs from the question; its words count most."""
    known = QUESTION_WORDS.union(*(split_words(f"{hit.document.title} {hit.text}") for hit in hits))
    question, asked = respell(question, known), respell(asked or question, known)
    if rows := find_extreme_rows(question, find_wanted_words(question), hits)[:MAX_QUOTES]:
        return make_quotation([(row.hit, row.text.replace(ROW, "; "), Place(row.start, row.end)) for row in rows])
    judged = sorted(
        score_sentences(question, hits, asked),
        key=lambda each: (-round(each.share, 2), each.rank, each.names_after // FIRST_CHARS, each.place.start),
    )
    if chosen := select_quotes(judged):
        return make_quotation([(each.hit, each.text, each.place) for each in chosen])
    near = next((each for each in judged if each.share >= MIN_NEAR), None)
    return answer_from_memory(question, memories) or make_refusal(question, near, bool(hits))


def make_quotation(quotes: Sequence[tuple[ChunkHit, str, Place]]) -> Reply:
    """Return the answer of some quotes; of several from one passage it cites the place of the first."""
    text = "\n".join(f"{said} ({hit.source})" for hit, said, _ in quotes)
    return Reply(text, {hit.source: place for hit, _, place in reversed(quotes)})


def answer_from_memory(question: str, memories: Sequence[Recollection]) -> Reply | None:
    """Return a memory that has every word asked for: the rent in Seville does not answer a question about Malmo."""
    wanted = set(find_wanted_words(question))
    for each in memories:
        if each.score >= MIN_MEMORY and wanted <= set(lexemes(each.text)):
            said = (REMEMBERED_ZH if is_cjk(question) else REMEMBERED).format(text=each.preview, id=each.id)
            return Reply(said, {}, memory=each.id)
    return None


def make_refusal(question: str, near: Sentence | None, is_any: bool) -> Reply:
    """Return a refusal. It cites no passage; the nearest one is named by title and page."""
    is_chinese = is_cjk(question)
    unknown, nothing, nearest = (UNKNOWN_ZH, NOTHING_ZH, NEAREST_ZH) if is_chinese else (UNKNOWN, NOTHING, NEAREST)
    if near is None:
        return Reply(unknown if is_any else nothing, {})
    said = nearest.format(unknown=unknown, where=format_place(near, is_chinese), text=" ".join(near.text.split()))
    return Reply(said, {}, near=(near.hit.source, near.place))


def format_place(said: Sentence, is_chinese: bool) -> str:
    title, (page, page_end) = said.hit.document.title, said.hit.chunk.pages(said.place.start, said.place.end)
    if page is None or page != page_end:
        return title
    return f"{title}，第 {page} 页" if is_chinese else f"{title}, page {page}"


def select_quotes(judged: Sequence[Sentence]) -> list[Sentence]:
    """Return the sentences to quote, best first."""
    if not judged or judged[0].share < MIN_SHARE:
        return []
    least = max(MIN_SHARE, NEAR_BEST * judged[0].share)
    chosen: dict[str, Sentence] = {}
    for each in judged:
        if each.share >= least:
            chosen.setdefault(" ".join(each.text.split()).casefold(), each)
    return list(chosen.values())[:MAX_QUOTES]


def score_sentences(question: str, hits: Sequence[ChunkHit], asked: str) -> Iterator[Sentence]:
    lines = [(rank, hit, line) for rank, hit in enumerate(hits) for line in split_lines(hit)]
    worth = normalize_weights(weigh_words(question, [line.words for _, _, line in lines]), lexemes(asked))
    wanted = read_wanted(question, {})
    for rank, hit, line in lines:
        weights = {**line.around, **dict.fromkeys(line.words, 1.0)}
        share = line.factor * sum(value * weights.get(word, 0.0) for word, value in worth.items())
        if share:
            said = make_sentence(hit, rank, line, share, worth)
            if wanted.type and rate_type(wanted, said.text) < 0:
                said = replace(said, share=share * NO_TYPE_WEIGHT.get(wanted.type, 1.0))
            elif lacks_count(question, said.text):
                said = replace(said, share=share * NO_TYPE_WEIGHT[NUMBER])
            yield said


def lacks_count(question: str, said: str) -> bool:
    """Return whether a sentence names the things to be counted, and never a number right before them."""
    counted = COUNTED.search(question)
    things = lexemes(counted[1]) if counted else None
    before = [said[: at.start()].split()[-2:] for at in WORD.finditer(said) if lexemes(at[0]) == things]
    return bool(before) and not any(NUMBER.search(" ".join(words)) for words in before)


def make_sentence(hit: ChunkHit, rank: int, line: Line, share: float, worth: Collection[str]) -> Sentence:
    start, end = line.place.start, min(line.place.end, line.place.start + QUOTE_CHARS)
    text = WRAPPED.sub(" ", hit.chunk.text[start:end]).replace(ROW, "; ")
    named = next((at.start() for at in WORD.finditer(text) if not lexemes(at[0]).keys().isdisjoint(worth)), len(text))
    return Sentence(hit, rank, Place(hit.chunk.start + start, hit.chunk.start + end), text, share, named)


def split_lines(hit: ChunkHit) -> Iterator[Line]:
    """Yield the sentences with content. Headings and questions add their words to the next sentence."""
    chunk = hit.chunk
    above = dict.fromkeys(lexemes(" ".join((hit.document.title, *chunk.headings, chunk.lead))), HEADING_WEIGHT)
    headings = {heading.strip() for heading in chunk.headings}
    around = dict(above)
    text = WRAPPED.sub(" ", chunk.text)
    for start, end in split_sentences(text):
        said = text[start:end]
        words = frozenset(lexemes(said))
        if said.strip() in headings or said.endswith(("?", "？", ":", "：")):
            around = around | dict.fromkeys(words, LEAD_WEIGHT)
            continue
        is_heading = is_title(text, start, end)
        yield Line(Place(start, end), words, around, TITLE_WEIGHT if is_heading else 1.0)
        around = (
            around | dict.fromkeys(words, LEAD_WEIGHT) if is_heading else dict.fromkeys(words, BEFORE_WEIGHT) | above
        )


def split_sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield the sentences; a row of a table is one, whatever marks are in it."""
    rows = {text.rfind("\n", 0, at.start()) + 1 for at in re.finditer(re.escape(ROW), text)}
    done = 0
    for start, end in sentences(text, ABBREVIATIONS):
        if start < done:
            continue
        line = text.rfind("\n", 0, start) + 1
        if line in rows:
            end = (text.find("\n", start) + 1 or len(text) + 1) - 1
        done = end
        yield start, end


def is_title(text: str, start: int, end: int) -> bool:
    """Whether a line is an unmarked title: few words, no number, at the beginning of a line, with text after it. One
    that ends with a full stop, before a sentence on the same line, is shorter still: otherwise it is a sentence."""
    line = text.rfind("\n", 0, start) + 1
    if text[line:start].strip() or not text[end:].strip() or not TITLED.fullmatch(text[start:end]):
        return False
    if text[start:end].endswith("."):
        return len(text[start:end].split()) <= RUN_IN_WORDS and not text[end:].startswith("\n\n")
    return text[end:].startswith("\n\n")


def find_wanted_words(question: str) -> list[str]:
    return list(lexemes(ASKING_FORM.sub(" ", ASKING_WORDS.sub(" ", question))) or lexemes(question))


def weigh_words(question: str, sentences: Sequence[Collection[str]]) -> dict[str, float]:
    """Return how rare each word is among the sentences. A word that no sentence has gets the highest weight; among few
    sentences only if the question is about it, otherwise that of a word that occurs once."""
    counts = {word: sum(word in each for each in sentences) for word in find_wanted_words(question)}
    # An answer without a name, or without the words after "what is the" and "who", answers another question.
    named = find_words(NAMED_THING, question)
    unknown = {word for word, n in counts.items() if not n and word.isascii()}.difference(named)
    if len(sentences) <= MIN_SENTENCES:
        counts |= dict.fromkeys(unknown, 1)
    less = dict.fromkeys(unknown.intersection(find_words(DOING, question)), DOING_WEIGHT)
    if not counts.keys() <= KIND_WORDS | less.keys():
        less = dict.fromkeys(KIND_WORDS, KIND_WEIGHT) | less
    many = max(len(sentences), MIN_SENTENCES)
    return {word: math.log(1 + (many - n + 0.5) / (n + 0.5)) * less.get(word, 1.0) for word, n in counts.items()}


def find_words(pattern: re.Pattern[str], question: str) -> list[str]:
    """Return the words in the group that matched."""
    return list(lexemes(" ".join(found[found.lastindex or 0] for found in pattern.finditer(question))))


def normalize_weights(worth: Mapping[str, float], asked: Collection[str]) -> dict[str, float]:
    """Return weights that add up to one. In a follow-up the words of the message itself get OWN_SHARE of it."""
    now = {word: value for word, value in worth.items() if word in asked}
    if not now or len(now) == len(worth):
        return scale(worth, 1.0)
    carried = {word: value for word, value in worth.items() if word not in asked}
    return scale(now, OWN_SHARE) | scale(carried, 1 - OWN_SHARE)


def scale(worth: Mapping[str, float], whole: float) -> dict[str, float]:
    total = sum(worth.values()) or 1.0
    return {word: whole * value / total for word, value in worth.items()}
