"""Summaries: one shape whether a model writes them or sentences are quoted. `summarize_by_quoting` works without a
model and always returns the same text.

`flows/reason.py` decodes a model's answer into a Summary; `keep_grounded` removes entries that the model made up. For
quoting, a turn is split into pieces: sentences or parts of long ones. Code, tables, tagged and recalled text are
blanked first; small talk is no piece. Words are worth more the rarer they are; a piece is worth its words, more if the
rules found a fact in it, or if it asks or answers. The best piece is taken, then the best for the words still missing,
until the budget is full. Quotations are verbatim and in order.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import chain, groupby, islice, pairwise

from recollect.learning.extract import extract
from recollect.learning.gates import ASKS, BLOCK, LINE, blank_spans
from recollect.learning.quote_location import is_said
from recollect.learning.rulebook import Rulebook, compile_pattern
from recollect.recall.entities import entities
from recollect.recall.excerpt import find_cut, find_whole_character
from recollect.recall.lexemes import count_tokens, lexemes
from recollect.recall.sentences import sentences
from recollect.recall.sketch import speaker_key
from recollect.values.conversation import Turn
from recollect.values.memory import SINGLE_KEYS, Category, Extraction, Fact, Span
from recollect.values.text import CJK_CHARACTER

MOST_SUMMARY = 2000  # characters
MOST_ENTRY = 300
MOST_ENTRIES = 12


@dataclass(frozen=True, slots=True)
class Summary:
    """`summary` is a few sentences; the lists are short statements, each understandable alone."""

    summary: str
    facts: tuple[str, ...] = ()
    preferences: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    todos: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()


def tidy_summary(summary: Summary) -> Summary:
    """Return the summary as it is stored: bounded, each entry once and on one line."""
    text, *lists = (getattr(summary, each.name) for each in fields(summary))
    return Summary(tidy_line(text, MOST_SUMMARY), *(tidy_entries(each) for each in lists))


def keep_grounded(summary: Summary, texts: Iterable[str]) -> Summary:
    """Return the summary without entries whose words were never said. The prose stays."""
    said = lexemes("\n".join(texts))
    text, *lists = (getattr(summary, each.name) for each in fields(summary))
    return Summary(text, *(tuple(each for each in given if is_said(each, said)) for given in lists))


def tidy_entries(given: Iterable[str]) -> tuple[str, ...]:
    return tuple(islice(dict.fromkeys(filter(None, (tidy_line(each, MOST_ENTRY) for each in given))), MOST_ENTRIES))


def tidy_line(text: str, most: int) -> str:
    """Return the text on one line within the limit, without NUL, which PostgreSQL cannot store."""
    text = " ".join(text.replace("\0", " ").split())
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


READ_CHARS = {"user": 2_000, "assistant": 800}  # an answer says first what it is about
PIECE_TOKENS = 40  # a longer sentence is quoted in parts
SMALL_TALK = "small talk"
SMALL_TALK_CHARS = 80
# What multiplies the worth of a piece's words.
USER, FOUND, QUESTION, ANSWER, IDLE = 1.5, 1.5, 1.1, 1.4, 0.4
HIGH_VALUE = 1.5  # the host marked the turn
LEAST_WORDS = 3
LEAST_IDLE = 6  # a courtesy of more words says something, too

RECALLED = re.compile(r"recall|memor|earlier|previous|记忆|召回|检索|历史|之前", re.IGNORECASE)
GAP = re.compile(r" {3,}")
CLAUSE = re.compile(r"[,;:)] +|[，；：、）] *")
BLANK = re.compile(r"\s+")
COURTESY = re.compile(
    r"\W*(?:let me know|feel free|i hope|hope (?:this|that)|if you (?:have|need|want|would)|is there anything"
    r"|would you like|do you want|happy to|glad to|certainly|sure|of course|absolutely|great (?:question|idea|job)"
    r"|thank|hey|hi|hello|congrat|you're welcome|by following|here(?:'s| is| are)|wow"
    r"|that(?:'s| is) (?:so |really )?(?:great|awesome|cool)"
    r"|如果你|如果您|希望|请随时|当然|好的|没问题|很高兴|不客气|以下是|还有什么)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a turn that may be quoted."""

    place: int  # of its turn in the run
    span: Span
    words: frozenset[str]
    tokens: int
    asks: bool
    factor: float
    cut: tuple[bool, bool]  # whether its sentence begins before it, and goes on after it


def split_pieces(place: int, turn: Turn, text: str, found: Extraction, books: Sequence[Rulebook]) -> list[Piece]:
    """Return the pieces of a turn; `text` are the turn's own words."""
    abbreviations = frozenset[str]().union(*(book.abbreviations for book in books))
    whole = [span for span in sentences(text, abbreviations) if is_statement(text, span, books)]
    made = (build_piece(place, turn, part, span, found) for span in whole for part in iter_unbroken(text, span))
    return [piece for piece in made if is_quotable(piece, found)]


def blank_foreign_parts(turn: Turn, books: Sequence[Rulebook]) -> str:
    """Return the beginning of the turn with foreign text blanked; empty for tools and systems."""
    most = READ_CHARS.get(turn.role, 0)
    text = turn.text[: find_cut(turn.text, most * 4 // 5, most, most)] if len(turn.text) > most else turn.text
    return blank_spans(text, find_hidden_spans(text, turn.role, books))


def find_hidden_spans(text: str, role: str, books: Sequence[Rulebook]) -> list[Span]:
    """Return code, tables and tags, and pasted or recalled text. Assistants often write after a colon, which looks like
    pasted text, so their turns are searched for it only if they mention memory."""
    is_searched = role == "user" or RECALLED.search(text)
    injected = [compile_pattern(book.injected) for book in books] if is_searched else []
    return [found.span() for pattern in (BLOCK, LINE, *injected) for found in pattern.finditer(text)]


def is_statement(text: str, span: Span, books: Sequence[Rulebook]) -> bool:
    """Return whether a sentence is neither a heading nor small talk."""
    is_heading = text.rfind("#", text.rfind("\n", 0, span[0]) + 1, span[0]) >= 0
    return not is_heading and not is_small_talk(text[slice(*span)], books)


def is_small_talk(text: str, books: Sequence[Rulebook]) -> bool:
    return len(text) <= SMALL_TALK_CHARS and any(
        compile_pattern(gate.pattern).search(text) for book in books for gate in book.gates if gate.reason == SMALL_TALK
    )


def iter_unbroken(text: str, span: Span) -> Iterator[Span]:
    """Yield the sentence without blanked gaps, in parts that are short enough."""
    start = span[0]
    for gap in GAP.finditer(text, *span):
        yield from split_evenly(text, (start, gap.start()))
        start = gap.end()
    yield from split_evenly(text, (start, span[1]))


def split_evenly(text: str, span: Span) -> Iterator[Span]:
    """Yield even parts of about PIECE_TOKENS at most, split between clauses if possible, or between words."""
    start, end = span
    count = max(1, -(-count_tokens(text[start:end]) // PIECE_TOKENS))
    size = (end - start) // count
    cuts = [find_break(text, start + size * i, size // 3) for i in range(1, count)]
    for low, high in pairwise([start, *cuts, end]):
        if text[low:high].strip():
            yield low, low + len(text[low:high].rstrip())


def find_break(text: str, goal: int, reach: int) -> int:
    for mark in (CLAUSE, BLANK):
        ends = [found.end() for found in mark.finditer(text, goal - reach, goal + reach)]
        if ends:
            return min(ends, key=lambda end: abs(end - goal))
    return find_whole_character(text, goal)


def build_piece(place: int, turn: Turn, span: Span, sentence: Span, found: Extraction) -> Piece:
    text = turn.text[slice(*span)]
    asks = text.rstrip("\"'”’ )）").endswith(ASKS)
    return Piece(
        place=place,
        span=span,
        words=frozenset(lexemes(text)),
        tokens=count_tokens(text),
        asks=asks,
        factor=compute_factor(turn, span, asks, found),
        cut=(span[0] > sentence[0], span[1] < sentence[1]),
    )


def compute_factor(turn: Turn, span: Span, asks: bool, found: Extraction) -> float:
    has_fact = any(span[0] <= fact.span[0] < span[1] for fact in found.facts)
    by_turn = (USER if turn.role == "user" else 1.0) * (HIGH_VALUE if turn.high_value else 1.0)
    if has_fact:
        return by_turn * FOUND
    is_idle = COURTESY.match(turn.text, *span) or turn.text[span[1] - 1] in ":："
    return by_turn * (IDLE if is_idle else QUESTION if asks and turn.role == "user" else 1.0)


def is_quotable(piece: Piece, found: Extraction) -> bool:
    """Return whether a piece says enough. A word or two suffice only in a user's question or a fact; what is to be
    forgotten is not quoted."""
    if any(command.verb == "forget" and is_overlapping(command.span, piece.span) for command in found.commands):
        return False
    least = LEAST_IDLE if piece.factor < 1 else 1 if piece.factor > USER else LEAST_WORDS
    return len(piece.words) >= least


def is_overlapping(one: Span, other: Span) -> bool:
    return one[0] < other[1] and other[0] < one[1]


MOST_TOKENS = 200
LABEL_TOKENS = 4
NEW = 0.3  # of a piece's words; with fewer it repeats what is quoted
AGAIN = 0.9  # for each piece of the same turn that is quoted already
ANSWERED = 0.3  # what a question's word is worth when an answer with it is quoted
LENGTH = 0.6  # exponent of a piece's tokens: at 0 long pieces win, at 1 short ones

LISTS: Mapping[Category, str] = {
    **dict.fromkeys(("identity", "fact"), "facts"),
    **dict.fromkeys(("preference", "instruction", "constraint"), "preferences"),
    "decision": "decisions",
    "todo": "todos",
}
CHINESE = {"user": "用户", "assistant": "助手", "tool": "工具", "system": "系统"}
LETTERS = 4  # of an English word take about the room of one Chinese character
UNSHOWN = {"(code)": re.compile("```"), "(table)": re.compile(r"^[ \t]*\|.*\|", re.MULTILINE)}
SEEN_CHARS = 4_000
NOTHING = "(nothing to quote)"
PLAIN_KEYS = ("note", "answer_style", "coding_style")  # like a key that is the category: the value says it all


@dataclass(frozen=True, slots=True)
class Covered:
    """The words that are quoted already. A question repeats only other questions: its answer uses the same words."""

    said: set[str] = field(default_factory=set)
    asked: set[str] = field(default_factory=set)

    def add(self, piece: Piece) -> None:
        self.said.update(piece.words)
        if piece.asks:
            self.asked.update(piece.words)


def summarize_by_quoting(
    turns: Sequence[Turn],
    extractions: Mapping[int, Extraction] | None,
    books: Sequence[Rulebook],
    most_tokens: int = MOST_TOKENS,
) -> Summary:
    """Return a summary of quotations. `extractions` are by the turns' indexes, or positions if they have none; None:
    they are made here."""
    found = [get_extraction(place, turn, extractions, books) for place, turn in enumerate(turns)]
    texts = [blank_foreign_parts(turn, books) for turn in turns]
    groups = [split_pieces(place, turn, texts[place], found[place], books) for place, turn in enumerate(turns)]
    chosen = choose_pieces(mark_answers(groups, turns), turns, most_tokens)
    return Summary(
        summary=" ".join(quote_pieces(chosen, turns)) or describe_unquotable(turns, most_tokens),
        entities=entities(texts),
        **list_facts(found),
    )


def get_extraction(
    place: int, turn: Turn, given: Mapping[int, Extraction] | None, books: Sequence[Rulebook]
) -> Extraction:
    if given is None:
        return extract(turn.text, turn.role, books)
    return given.get(place if turn.index is None else turn.index, Extraction())


def mark_answers(groups: Sequence[list[Piece]], turns: Sequence[Turn]) -> list[Piece]:
    """Return all pieces; of a turn after a question, the first that uses its words is worth more."""
    asked = frozenset[str]()
    for group, turn in zip(groups, turns, strict=True):
        answer = next((i for i, piece in enumerate(group) if piece.words & asked), None)
        if answer is not None and turn.role != "user":
            group[answer] = replace(group[answer], factor=group[answer].factor * ANSWER)
        asked = frozenset[str]().union(*(piece.words for piece in group if piece.asks))
    return [piece for group in groups for piece in group]


def choose_pieces(found: Sequence[Piece], turns: Sequence[Turn], most: int) -> list[Piece]:
    """Return the pieces to quote, in order, chosen greedily by gain for the room they take."""
    weights, chosen, covered = weigh_words(found), list[Piece](), Covered()
    left, pool = most, [*found]
    while pool := [piece for piece in pool if piece.tokens + 1 <= left and is_new(piece, covered)]:
        places = Counter(piece.place for piece in chosen)
        top = max(pool, key=lambda piece: compute_gain(piece, weights, covered) * AGAIN ** places[piece.place])
        pool.remove(top)
        trial = sorted([*chosen, top], key=lambda piece: (piece.place, piece.span))
        room = most - count_tokens(" ".join(quote_pieces(trial, turns)))
        if room >= 0:
            chosen, left = trial, room
            covered.add(top)
    return chosen


def weigh_words(found: Sequence[Piece]) -> dict[str, float]:
    counts = Counter(word for piece in found for word in piece.words)
    return {word: math.log(1 + len(found) / count) * math.log(1 + count) for word, count in counts.items()}


def compute_gain(piece: Piece, weights: Mapping[str, float], covered: Covered) -> float:
    # The order of a set of words differs between processes; fsum does not depend on it, so all choose the same.
    said, asked = covered.said, covered.asked
    if piece.asks:
        new = math.fsum(weights[word] * (ANSWERED if word in said else 1) for word in piece.words if word not in asked)
    else:
        new = math.fsum(weights[word] for word in piece.words if word not in said)
    return new * piece.factor / math.pow(piece.tokens + LABEL_TOKENS, LENGTH)


def is_new(piece: Piece, covered: Covered) -> bool:
    return len(piece.words - (covered.asked if piece.asks else covered.said)) >= NEW * len(piece.words)


def quote_pieces(chosen: Sequence[Piece], turns: Sequence[Turn]) -> Iterator[str]:
    """Yield quotations by turn, with the speaker and what else is in the turn. A speaker who continues is not named
    again."""
    before = ""
    for place, group in groupby(chosen, key=lambda piece: piece.place):
        turn, said = turns[place], list(group)
        quoted = [quote_run(turn.text, run) for run in group_adjacent(turn.text, said)]
        name = label_speaker(turn, quoted[0], asks=all(piece.asks for piece in said))
        yield ("" if name == before else name) + " ".join([*quoted, *list_unquotable(turn)])
        before = name


def group_adjacent(text: str, said: Sequence[Piece]) -> list[list[Piece]]:
    """Group adjacent pieces of a turn into one quotation."""
    made: list[list[Piece]] = []
    for piece in said:
        if made and not text[made[-1][-1].span[1] : piece.span[0]].strip(" "):
            made[-1].append(piece)
        else:
            made.append([piece])
    return made


def quote_run(text: str, run: Sequence[Piece]) -> str:
    before, after = run[0].cut[0], run[-1].cut[1]
    return f'"{"..." * before}{text[run[0].span[0] : run[-1].span[1]]}{"..." * after}"'


def label_speaker(turn: Turn, quoted: str, asks: bool) -> str:
    """Return the speaker's label in the language of the quotation."""
    name = turn.speaker if speaker_key(turn.speaker) else None
    if len(CJK_CHARACTER.findall(quoted)) * LETTERS > len(quoted):
        return f"{name or CHINESE[turn.role]}{'问' if asks else ''}："
    return f"{name or turn.role.capitalize()}{' asked' if asks else ''}: "


def list_unquotable(turn: Turn) -> list[str]:
    """Return markers for content that cannot be quoted in a line."""
    return [name for name, pattern in UNSHOWN.items() if pattern.search(turn.text[:SEEN_CHARS])]


def describe_unquotable(turns: Sequence[Turn], most: int) -> str:
    """Return the summary if nothing can be quoted."""
    seen = dict.fromkeys(
        label_speaker(turn, "", asks=False) + " ".join(names) for turn in turns if (names := list_unquotable(turn))
    )
    text = " ".join(seen) or NOTHING
    return text if count_tokens(text) <= most else ""


def list_facts(found: Sequence[Extraction]) -> dict[str, tuple[str, ...]]:
    """Return facts as short statements, by list. Of a single-valued key the last counts; what is to be forgotten does
    not."""
    orders = (order.text for each in found for order in each.commands if order.verb == "forget")
    forgotten = "\n".join(orders).casefold()
    made: dict[str, dict[str, str]] = {name: {} for name in LISTS.values()}
    for fact in chain.from_iterable(each.facts for each in found):
        value = fact.value.casefold()
        if value not in forgotten:
            said = made[LISTS[fact.category]]
            key = fact.key if fact.key in SINGLE_KEYS else f"{fact.key} {value}"
            said.pop(key, None)
            said[key] = state_fact(fact)
    return {name: tuple(said.values()) for name, said in made.items()}


def state_fact(fact: Fact) -> str:
    if fact.key in (fact.category, *PLAIN_KEYS):
        return fact.value
    return f"{fact.key.removeprefix('definition:').replace('_', ' ')}: {fact.value}"
