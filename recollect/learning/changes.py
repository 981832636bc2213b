"""Changes of mind: which earlier statement a later message replaces or ends. Pure; recall marks outdated turns with it,
and learning ends memories.

A message is read once: its sentences without questions and hypotheses, whom they are about, and a few signs of
change. A message about other people changes nothing. The rest are compared by a weighted sum of signs: what the
message says of a change, what both have in common, whether another earlier statement has more in common with it, and,
if there is a question, how relevant both are to it and whether both are of its matter (matters.py). The weights were
fitted on stories in which a value changes and on dialogues in which nothing does (bench/fit_answers.py); that of
`edits` is set by hand.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.learning.extract import APOSTROPHES
from recollect.learning.gates import blank_spans, find_quoted_spans, find_text_reason, gate_clauses
from recollect.learning.matters import project
from recollect.learning.rulebook import Rulebook, compile_pattern, list_books
from recollect.learning.rules import rulebooks
from recollect.learning.similarity import get_gist
from recollect.recall.answer_ranking import Relevance, list_words
from recollect.recall.answer_types import AGENTS, NOBODY, SOMEBODY, USER, find_about, read_subjects
from recollect.recall.lexemes import lexemes
from recollect.recall.sentences import sentences
from recollect.recall.word_lists import REQUEST_WORDS, STOP_WORDS, TIME_WORDS
from recollect.values.memory import Memory
from recollect.values.text import CJK_CHARACTER, WORD, is_cjk

Floats = NDArray[np.float64]
Vectors = Mapping[str, NDArray[Any]]  # of words, at unit length

NOT_SAID = frozenset(("question", "role play", "joke", "small talk"))  # reasons of clauses that are not compared at all
NOT_NOW = frozenset(("hypothetical", "denied", "past"))  # of clauses that change nothing
CUES = ("ends", "changes", "corrects", "happened")
MOST_CHARS = 2_000  # of a message that is compared
LIKELY = 0.08  # probability from which a statement may be outdated
AS_LIKELY = 0.5  # of the highest probability: of several such changes of one statement the last holds
SURELY = 0.6  # probability from which a statement ends
NAMED = 0.5  # share of the words of a memory that a message must name to end it
SOON = 3  # messages: how far back one corrects, or speaks of somebody without a name
MOST_EDITED = 4  # words that say what is right
UNLIKE = 0.25  # usual similarity of two words
USUAL_MATTER = 0.2  # of a statement and a question that are relevant to each other
NEAREST = 2  # words of a statement that are most similar to a message
NAMES = re.compile(r"(?<=\s)[A-Z][\w'&-]*(?: (?:& )?[A-Z][\w'-]*)*")
# Words that two statements may share without being about the same matter.
COMMON = TIME_WORDS | {
    *("thing", "time", "evening", "get", "got", "go", "going", "went", "come", "came", "take", "took", "make", "made"),
    *("want", "need", "like", "love", "think", "know", "new", "old", "good", "bad", "big", "little", "bit", "lot"),
    *("way", "people", "really", "still", "back", "first", "one", "two", "much", "many", "work", "use", "name", "call"),
}
CJK_COMMON = frozenset(
    "的了是在我你他她它们这那个有和与就都也吗呢啊呀吧么什啥一不没很还再又最上下来去到说要想会能可以得着过里大小多少人天今明昨"
    "年月日号点时候现在已经自己把被给跟从对好看做用家事情感觉真太挺才刚因为所"
)


class Signs(NamedTuple):
    """What speaks for a change; the first four are signs of the later message alone, the last five need a question."""

    ends: float  # says that something ended
    changes: float  # or began, or is new
    corrects: float  # or was wrong
    happened: float  # reports an event
    overlap: float = 0.0  # of the words of both, rare ones more
    numbers: float = 0.0  # both have one
    times: float = 0.0  # both have one
    soon: float = 0.0  # it corrects something, and follows closely
    edits: float = 0.0  # it corrects something, names nothing that it is about, and follows at once
    ahead: float = 0.0  # how much nearer their words are than those of any statement of another message
    asked: float = 0.0  # there is a question
    matter: float = 0.0  # similarity of both to its matter (matters.py), that of the farther one
    typed: float = 0.0  # 1 if both have the type of answer that it asks for, -1 if one has not
    earlier: float = 0.0  # relevance of the statement's message to it
    later: float = 0.0  # and of the later one


WEIGHTS = Signs(
    ends=1.18, changes=2.41, corrects=-1.46, happened=1.19, overlap=1.36, soon=2.98, edits=2.0, ahead=2.59, matter=5.22,
    typed=0.47, earlier=1.33, later=0.4,
)  # fmt: skip
BIAS = -7.51
# Of learning, which has neither a question nor vectors: only what shares a word is compared.
WEIGHTS_ALONE = Signs(
    ends=1.16, changes=2.29, corrects=0.1, happened=0.61, overlap=0.16, numbers=0.75, times=0.3, soon=1.69, ahead=1.78
)  # fmt: skip
BIAS_ALONE = -3.52
OVERLAP = Signs._fields.index("overlap")


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence that states something. `now` are the words of what it says of the present: plans, hypotheses, and
    other people's words change nothing, but may be outdated themselves."""

    text: str
    words: frozenset[str]
    now: frozenset[str]
    cues: frozenset[str]
    is_past: bool
    has_number: bool
    has_time: bool


@lru_cache(maxsize=2_000)
def read_statements(text: str) -> tuple[Statement, ...]:
    """Return the statements of a user's message, in order."""
    books = rulebooks()
    whole = text[:MOST_CHARS].translate(APOSTROPHES)
    own = blank_spans(whole, list(find_quoted_spans(whole, books)))
    if any(find_text_reason(own, book) for book in books):
        return ()
    abbreviations = frozenset[str]().union(*(book.abbreviations for book in books))
    said = [part for span in sentences(own, abbreviations) for part in split_subjects(own[slice(*span)], books)]
    return tuple(each for part in said if (each := read_statement(part, books)) is not None)


def split_subjects(sentence: str, books: Sequence[Rulebook]) -> list[str]:
    """Return the parts of a sentence that speak of different people: "I am a carpenter, my brother is a postman"."""
    found = list_books(sentence, books)
    return compile_pattern(found[0].cues["subject"]).split(sentence) if found else [sentence]


def read_statement(sentence: str, books: Sequence[Rulebook]) -> Statement | None:
    """Return the open clauses of a sentence as a statement; None if there are none."""
    found = list_books(sentence, books)[:1]
    clauses = [each for book in found for each in gate_clauses(sentence, book) if NOT_SAID.isdisjoint(each.reasons)]
    if not clauses:
        return None
    [book] = found

    def find(cue: str, text: str) -> list[str]:
        return compile_pattern(book.cues[cue]).findall(text)

    ignored = NOT_NOW - {"past"} if find("corrects", sentence) else NOT_NOW
    said = " ".join(sentence[slice(*clause.span)].strip() for clause in clauses)
    now = " ".join(sentence[slice(*clause.span)].strip() for clause in clauses if ignored.isdisjoint(clause.reasons))
    return Statement(
        text=sentence.strip(),
        words=list_topic_words(blank_cues(said, book)),
        now=list_topic_words(blank_cues(now, book)),
        cues=frozenset(cue for cue in CUES if find(cue, now)),
        is_past=any("past" in clause.reasons for clause in clauses),
        has_number=bool(find("number", said)),
        has_time=bool(find("time", said)),
    )


def blank_cues(text: str, book: Rulebook) -> str:
    """Return a text without the words that say that something changed: they are not what it is about."""
    for cue in ("ends", "changes", "corrects"):
        text = compile_pattern(book.cues[cue]).sub(" ", text)
    return text


def list_topic_words(text: str) -> frozenset[str]:
    """Return the words that say what a statement is about, which numbers do not; of Chinese also single characters,
    because a word is often shortened to one."""
    found = lexemes(text, without=REQUEST_WORDS | COMMON)
    words = frozenset(word for word in found if word not in COMMON and not word.isdigit())
    return words | (frozenset(CJK_CHARACTER.findall(text)) - CJK_COMMON if is_cjk(text) else frozenset())


@dataclass(frozen=True, slots=True)
class Message:
    """The statements of a message taken together, as a possible change. `cues` are the signs of it alone."""

    statements: tuple[Statement, ...]
    now: frozenset[str]
    has_number: bool
    has_time: bool
    corrects: bool
    cues: tuple[float, float, float, float]


@lru_cache(maxsize=2_000)
def read_changes(text: str) -> Message:
    """Return a message as what it may change."""
    said = read_statements(text)
    cues = frozenset[str]().union(*(each.cues for each in said))
    return Message(
        statements=said,
        now=frozenset[str]().union(*(each.now for each in said)),
        has_number=any(each.has_number for each in said),
        has_time=any(each.has_time for each in said),
        corrects="corrects" in cues,
        cues=(float("ends" in cues), float("changes" in cues), float("corrects" in cues), float("happened" in cues)),
    )


@dataclass(frozen=True, slots=True)
class Said:
    """A message of a user in its place among the others. `about` are the people of each statement, `people` of all of
    them; `rarity` is the weight of each word of any message; `relevance` is None without a question."""

    place: int
    message: Message
    about: Sequence[frozenset[str]]
    people: frozenset[str]
    relevance: Relevance | None
    rarity: Mapping[str, float]
    previous: int  # the last message before it that states something


def place_messages(messages: Sequence[str], relevance: Sequence[Relevance] = ()) -> list[Said]:
    """Return messages, given in the order they were said, as they are compared."""
    read = [read_changes(text) for text in messages]
    subjects = read_subjects(tuple(messages))
    count = Counter(word for each in read for word in each.now.union(*(one.words for one in each.statements)))
    rarity = {word: math.log(1 + (len(read) - n + 0.5) / (n + 0.5)) for word, n in count.items()}
    found: list[Said] = []
    for place, (message, before) in enumerate(zip(read, subjects.before, strict=True)):
        about = [find_about(each.text, subjects.names, before) for each in message.statements]
        people = frozenset[str]().union(*about)
        previous = next((each.place for each in reversed(found) if each.message.statements), -1)
        asked = relevance[place] if relevance else None
        found.append(Said(place, message, about, people, asked, rarity, previous))
    return found


@dataclass(frozen=True, slots=True)
class Change:
    """A statement of one message that a later message replaces or ends."""

    message: int
    statement: str
    by: int
    probability: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """Each statement, with its message, beside each later message. `fits` says which of these may be about the same
    people, `signs` what speaks for a change: both have a row for each statement and a column for each message."""

    statements: Sequence[tuple[Statement, Said]]
    messages: Sequence[Said]
    fits: NDArray[np.bool_]
    signs: Floats

    def estimate(self) -> Floats:
        """Return the probability of each change. Without a question only what shares a word is a change."""
        is_asked = any(each.relevance for each in self.messages)
        weights, bias = (WEIGHTS, BIAS) if is_asked else (WEIGHTS_ALONE, BIAS_ALONE)
        is_compared = self.fits if is_asked else self.fits & (self.signs[..., OVERLAP] > 0)
        return np.where(is_compared, 1 / (1 + np.exp(-(bias + self.signs @ np.array(weights)))), 0.0)

    def list_changes(self) -> list[Change]:
        """Return the changes that are likely: of each statement the last of the most probable ones."""
        found: list[Change] = []
        for (statement, earlier), row in zip(self.statements, self.estimate(), strict=True):
            best = row.max(initial=0.0)
            if best >= LIKELY:
                last = int(np.flatnonzero(row >= best * AS_LIKELY)[-1])
                found.append(Change(earlier.place, statement.text, self.messages[last].place, float(row[last])))
        return found


def compare_all(said: Sequence[Said], vectors: Vectors | None = None, question: str = "", since: int = 0) -> Comparison:
    """Compare each statement with each later message, of those from `since` on."""
    olds = [(one, each) for each in said for one in each.message.statements]
    about = [who for each in said for who in each.about]
    news = [later for later in said[since:] if later.message.now]
    fits = [[may_change(who, old, new) for new in news] for who, (_, old) in zip(about, olds, strict=True)]
    shape = len(olds), len(news)
    found = Comparison(olds, news, np.array(fits, bool).reshape(shape), np.zeros((*shape, len(Signs._fields))))
    if olds and news:
        for name, values in measure_signs(found, vectors, question):
            found.signs[..., Signs._fields.index(name)] = values
    return found


def measure_signs(
    found: Comparison, vectors: Vectors | None, question: str
) -> Iterator[tuple[str, NDArray[Any] | float]]:
    """Yield what speaks for each change, by name of the sign."""
    yield from measure_words(found, vectors)
    yield from measure_messages(found)
    yield from measure_question(found, vectors, question)


def measure_words(found: Comparison, vectors: Vectors | None) -> Iterator[tuple[str, Floats]]:
    """Yield the signs of the words that statements and messages have in common."""
    places = [old.place for _, old in found.statements]
    texts = [one.text for one, _ in found.statements]
    similar = measure_similarity(texts, [join_statements(each) for each in found.messages], vectors)
    yield "ahead", measure_lead(np.where(found.fits, similar, 0.0), places)
    yield "overlap", measure_overlap(found)


def measure_messages(found: Comparison) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the signs of the messages alone, and of where they stand."""
    ones, news = [one for one, _ in found.statements], [each.message for each in found.messages]
    cues = np.array([each.cues for each in news], float).reshape(len(news), len(CUES))
    yield from zip(CUES, cues.T, strict=True)
    yield "numbers", np.outer([each.has_number for each in ones], [each.has_number for each in news])
    yield "times", np.outer([each.has_time for each in ones], [each.has_time for each in news])
    old = np.array([each.place for _, each in found.statements], int)[:, None]
    new = np.array([each.place for each in found.messages], int)
    previous = np.array([each.previous for each in found.messages], int)
    yield "soon", np.array([each.corrects for each in news], bool) & (new - old <= SOON)
    yield "edits", np.array(list(map(is_edit, found.messages)), bool) & (old == previous)


def measure_question(
    found: Comparison, vectors: Vectors | None, question: str
) -> Iterator[tuple[str, NDArray[Any] | float]]:
    """Yield the signs that need a question."""
    first = [each.relevance for _, each in found.statements if each.relevance]
    last = [each.relevance for each in found.messages if each.relevance]
    if not first or not last:
        return
    yield "asked", 1.0
    yield "matter", measure_matter(found, rate_matters([one.text for one, _ in found.statements], vectors, question))
    yield "typed", np.minimum.outer(np.array([each.typed for each in first]), np.array([each.typed for each in last]))
    yield "earlier", np.array([each.score for each in first])[:, None]
    yield "later", np.array([each.score for each in last])


def measure_matter(found: Comparison, matters: Sequence[float]) -> Floats:
    """Return how near a statement and a message both are to the matter of the question: a message is as near as its
    nearest statement."""
    best = dict[int, float]()
    for (_, old), matter in zip(found.statements, matters, strict=True):
        best[old.place] = max(matter, best.get(old.place, -1.0))
    later = np.array([best[each.place] for each in found.messages])
    nearer: Floats = np.minimum(np.array(matters)[:, None], later)
    return nearer


def may_change(about: frozenset[str], earlier: Said, later: Said) -> bool:
    return earlier.place < later.place and is_same_subject(about, earlier, later)


def join_statements(said: Said) -> str:
    return " ".join(each.text for each in said.message.statements)


def rate_matters(statements: Sequence[str], vectors: Vectors | None, question: str) -> list[float]:
    """Return how similar the matter of each statement is to that of a question; as similar as usual where they have no
    vectors."""
    if not statements or vectors is None or not vectors.keys() >= {question, *statements}:
        return [USUAL_MATTER] * len(statements)
    asked, told = project(np.array([vectors[question]])), project(np.array([vectors[text] for text in statements]))
    return [float(similar) for similar in told @ asked[0]]


def measure_similarity(statements: Sequence[str], messages: Sequence[str], vectors: Vectors | None) -> Floats:
    """Return the similarity of each statement to each message: that of the statement's nearest words, on average.
    Without vectors no words are more similar than usual but equal ones."""
    asked, told = list(map(list_words, statements)), list(map(list_words, messages))
    place = {word: n for n, word in enumerate(dict.fromkeys(chain(*asked, *told)))}
    table = np.zeros((len(place) + 1, len(place) + 1))  # the last row stands for the words that a short statement lacks
    if place:
        table[:-1, :-1] = compute_similarity(list(place), vectors)
    rows = arrange([[place[word] for word in words] for words in asked], len(place))
    similar = np.zeros((len(asked), len(told)))
    for n, words in enumerate(told):
        if words:
            nearest = table[:, [place[word] for word in words]].max(axis=1)
            similar[:, n] = np.sort(nearest[rows], axis=1)[:, -NEAREST:].mean(axis=1)
    return similar


def arrange(places: Sequence[Sequence[int]], missing: int) -> NDArray[np.int_]:
    """Return lists of different lengths as rows."""
    rows = np.full((len(places), max([NEAREST, *map(len, places)])), missing)
    for row, found in zip(rows, places, strict=True):
        row[: len(found)] = found
    return rows


def compute_similarity(words: Sequence[str], vectors: Vectors | None) -> Floats:
    """Return the similarity of each word to each; one without a vector is as similar as usual to any other."""
    similar = np.where(np.eye(len(words)) > 0, 1.0, UNLIKE)
    at = [n for n, word in enumerate(words) if vectors is not None and word in vectors]
    if vectors is not None and at:
        known = np.array([vectors[words[n]] for n in at])
        similar[np.ix_(at, at)] = np.maximum(known @ known.T, 0.0)
    return similar


def measure_lead(similar: Floats, places: Sequence[int]) -> Floats:
    """Return how much nearer each statement is to each message than the statements of all other messages (`places`)."""
    best = np.zeros((max(places, default=0) + 1, similar.shape[1]))
    np.maximum.at(best, np.array(places, int), similar)
    first = best.argmax(axis=0)
    second = np.sort(best, axis=0)[-2] if len(best) > 1 else np.zeros(similar.shape[1])
    return similar - np.where(np.array(places, int)[:, None] == first, second, best.max(axis=0))


def is_edit(later: Said) -> bool:
    """Return whether a message only says what is right instead: "Actually, make that teal"."""
    return later.message.corrects and later.people <= {NOBODY} and len(later.message.now) <= MOST_EDITED


def measure_overlap(found: Comparison) -> Floats:
    """Return the share of the words of each statement and each message that both have, rare ones counting more."""
    rarity = found.messages[0].rarity
    weights, places = np.array(list(rarity.values())), {word: place for place, word in enumerate(rarity)}

    def mark(words: Sequence[frozenset[str]]) -> Floats:
        marked = np.zeros((len(words), len(rarity)))
        for row, each in zip(marked, words, strict=True):
            row[[places[word] for word in each]] = 1.0
        return marked

    old, new = mark([one.words for one, _ in found.statements]), mark([each.message.now for each in found.messages])
    whole = np.sqrt(np.outer(old @ weights, new @ weights))
    shared: Floats = (old * weights) @ new.T
    return shared / np.where(whole > 0, whole, 1.0)


def is_same_subject(about: frozenset[str], earlier: Said, later: Said) -> bool:
    """Return whether a later message may be about the people of a statement. Without people it is about the user."""
    others, is_soon = about - {USER, NOBODY}, later.place - earlier.place <= SOON
    if (about & later.people) - {NOBODY} or (others and SOMEBODY in later.people):
        return True
    if others and USER not in about:
        return is_soon and NOBODY in later.people and later.message.corrects
    return USER in later.people or NOBODY in later.people or later.people <= AGENTS


def find_outdated(
    messages: Sequence[str], relevance: Sequence[Relevance] = (), vectors: Vectors | None = None, question: str = ""
) -> list[Change]:
    """Return what may be outdated in a user's messages, given in the order they were said; each statement with the
    last message that probably changes it. `relevance` is that of each message to the question; `vectors` are those of
    all words, of the question and of all statements."""
    return compare_all(place_messages(messages, relevance), vectors, question).list_changes()


def has_change_cue(message: str) -> bool:
    """Return whether a message has a cue of change."""
    return any(each.cues for each in read_statements(message))


def find_ended(message: str, known: Sequence[Memory]) -> list[Memory]:
    """Return the memories that a message ends; of several todos only the one that it names best. A statement that was
    kept as it was said ends as well if the message probably changes it."""
    stated = [memory for memory in known if memory.key == memory.kind and memory.kind != "todo"]
    said = place_messages([*(memory.value for memory in stated), message])
    changes = compare_all(said, since=len(stated)).list_changes()
    places = sorted({change.message for change in changes if change.probability >= SURELY})
    replaced = [stated[place] for place in places]
    return replaced + [memory for memory in find_named(message, known) if memory not in replaced]


def find_named(message: str, known: Sequence[Memory]) -> list[Memory]:
    """Return the memories of which a message names at least a part and says that they ended."""
    scored = [(memory, rate_naming(message, memory.value)) for memory in known]
    ended = [(memory, score) for memory, score in scored if score >= NAMED and is_about_same(memory.text, message)]
    best = max((score for memory, score in ended if memory.kind == "todo"), default=0.0)
    return [memory for memory, score in ended if memory.kind != "todo" or score == best]


def is_about_same(text: str, message: str) -> bool:
    """Return whether a message may be about the people of a text."""
    earlier, later = place_messages([text, message])
    return not earlier.about or any(may_change(about, earlier, later) for about in earlier.about)


def rate_naming(message: str, value: str) -> float:
    """Return the share of a value's words in a statement that says that something ended or was wrong."""
    words = frozenset(lexemes(value, without=COMMON)) - COMMON
    ending = [each for each in read_statements(message) if each.cues & {"ends", "corrects"}]
    return max((len(words & each.now) / len(words) for each in ending if words), default=0.0)


def split_change(text: str, old: str = "") -> tuple[str, str]:
    """Return the parts of a message that say what held before and what holds now: it corrects itself, or its beginning
    alone is about the `old` statement that it changes. The first part is empty if all of it holds."""
    places = [place for place in (find_correction(text), find_change_of(text, old)) if place]
    if not places:
        return "", text
    return f"{text[: max(places)].rstrip()} …", f"… {text[max(places) :].lstrip()}"


def find_correction(text: str) -> int:
    """Return where a message begins to correct itself: "it is the 12th, no, the 14th"; 0 if it does not."""
    found = [match.start() for book in rulebooks() for match in compile_pattern(book.cues["takes_back"]).finditer(text)]
    return max((place for place in found if list_topic_words(text[:place]) and text[place:].strip()), default=0)


def find_change_of(text: str, old: str) -> int:
    """Return where a message begins to say what holds now, if only what it says before is about the `old` statement."""
    before = list_topic_words(old)
    begin = find_change(text) if before else 0
    is_old = not before.isdisjoint(list_topic_words(text[:begin]) - list_topic_words(text[begin:]))
    return begin if is_old else 0


def find_change(text: str) -> int:
    """Return where the first clause begins that says what holds now; 0 if none does."""
    for start, end in sentences(text, frozenset()):
        for book in list_books(text[start:end], rulebooks())[:1]:
            for clause in gate_clauses(text[start:end], book):
                begin, said = start + clause.span[0], text[start + clause.span[0] : start + clause.span[1]]
                if compile_pattern(book.cues["changes"]).search(said) and not get_gist(said).negated:
                    return begin
    return 0


def find_successor(message: str, old: str) -> str | None:
    """Return the name that takes the place of another one in a message: "left Barclays and joined Monzo". None if the
    message names no or several others after it."""
    words = list_topic_words(old)
    for said in read_statements(message):
        named = [found.end() for found in WORD.finditer(said.text) if not words.isdisjoint(lexemes(found[0]))]
        if named and "changes" in said.cues:
            found = NAMES.findall(said.text[named[-1] :])
            names = [name for name in found if (TIME_WORDS | STOP_WORDS).isdisjoint(name.lower().split())]
            return names[0] if len(names) == 1 else None
    return None
