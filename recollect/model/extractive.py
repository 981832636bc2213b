"""Extractive: what was said in a run of turns, told by quoting it. No model, nothing awaited, the same text every time.

The worker calls `extractive` when an episode is due and no model writes it. `model/pieces.py` says what may be quoted.
Words are worth more the rarer they are in the run; a piece is worth its words, more if the rules found something in it,
if it asks or if it answers. The best is taken, then the best for the words that are still missing, and so on until the
budget is full. Quotations are verbatim and in the order of the conversation.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from recollect.model.conversation import Turn
from recollect.model.entities import entities
from recollect.model.extract import extract
from recollect.model.fact import SINGLE_KEYS, Category, Extraction, Fact
from recollect.model.pieces import ANSWER, Piece, own_words, pieces
from recollect.model.rulebook import Rulebook
from recollect.model.sketch import speaker_key
from recollect.model.summary import Summary
from recollect.model.text import CJK_CHARACTER
from recollect.model.tokens import count_tokens

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


def extractive(
    turns: Sequence[Turn],
    extractions: Mapping[int, Extraction] | None,
    books: Sequence[Rulebook],
    most_tokens: int = MOST_TOKENS,
) -> Summary:
    """`extractions` by the turns' indexes, or by their places where they have none; None: they are made here."""
    found = [extraction(place, turn, extractions, books) for place, turn in enumerate(turns)]
    texts = [own_words(turn, books) for turn in turns]
    groups = [pieces(place, turn, texts[place], found[place], books) for place, turn in enumerate(turns)]
    chosen = best(answers_marked(groups, turns), turns, most_tokens)
    return Summary(
        summary=" ".join(told(chosen, turns)) or unquoted(turns, most_tokens), entities=entities(texts), **listed(found)
    )


def extraction(place: int, turn: Turn, given: Mapping[int, Extraction] | None, books: Sequence[Rulebook]) -> Extraction:
    if given is None:
        return extract(turn.text, turn.role, books)
    return given.get(place if turn.index is None else turn.index, Extraction())


def answers_marked(groups: Sequence[list[Piece]], turns: Sequence[Turn]) -> list[Piece]:
    """All pieces; of a turn after a question, the first that takes up its words is worth more."""
    asked = frozenset[str]()
    for group, turn in zip(groups, turns, strict=True):
        answer = next((i for i, piece in enumerate(group) if piece.words & asked), None)
        if answer is not None and turn.role != "user":
            group[answer] = replace(group[answer], factor=group[answer].factor * ANSWER)
        asked = frozenset[str]().union(*(piece.words for piece in group if piece.asks))
    return [piece for group in groups for piece in group]


def best(found: Sequence[Piece], turns: Sequence[Turn], most: int) -> list[Piece]:
    """The pieces to quote, in order: greedily the one that adds most for the room it takes."""
    weights, chosen, covered = word_weights(found), list[Piece](), Covered()
    left, pool = most, [*found]
    while pool := [piece for piece in pool if piece.tokens + 1 <= left and is_new(piece, covered)]:
        places = Counter(piece.place for piece in chosen)
        top = max(pool, key=lambda piece: gain(piece, weights, covered) * AGAIN ** places[piece.place])
        pool.remove(top)
        trial = sorted([*chosen, top], key=lambda piece: (piece.place, piece.span))
        room = most - count_tokens(" ".join(told(trial, turns)))
        if room >= 0:
            chosen, left = trial, room
            covered.add(top)
    return chosen


def word_weights(found: Sequence[Piece]) -> dict[str, float]:
    counts = Counter(word for piece in found for word in piece.words)
    return {word: math.log(1 + len(found) / count) * math.log(1 + count) for word, count in counts.items()}


def gain(piece: Piece, weights: Mapping[str, float], covered: Covered) -> float:
    # The order of a set of words differs between processes; fsum does not depend on it, so all choose the same.
    said, asked = covered.said, covered.asked
    if piece.asks:
        new = math.fsum(weights[word] * (ANSWERED if word in said else 1) for word in piece.words if word not in asked)
    else:
        new = math.fsum(weights[word] for word in piece.words if word not in said)
    return new * piece.factor / math.pow(piece.tokens + LABEL_TOKENS, LENGTH)


def is_new(piece: Piece, covered: Covered) -> bool:
    return len(piece.words - (covered.asked if piece.asks else covered.said)) >= NEW * len(piece.words)


def told(chosen: Sequence[Piece], turns: Sequence[Turn]) -> Iterator[str]:
    """Quotations, by turn: who said them, and what else is in the turn. A speaker who goes on is not named again."""
    before = ""
    for place, group in groupby(chosen, key=lambda piece: piece.place):
        turn, said = turns[place], list(group)
        quoted = [quotation(turn.text, run) for run in runs(turn.text, said)]
        name = label(turn, quoted[0], asks=all(piece.asks for piece in said))
        yield ("" if name == before else name) + " ".join([*quoted, *unshown(turn)])
        before = name


def runs(text: str, said: Sequence[Piece]) -> list[list[Piece]]:
    """What stands side by side in the turn is one quotation."""
    made: list[list[Piece]] = []
    for piece in said:
        if made and not text[made[-1][-1].span[1] : piece.span[0]].strip(" "):
            made[-1].append(piece)
        else:
            made.append([piece])
    return made


def quotation(text: str, run: Sequence[Piece]) -> str:
    before, after = run[0].cut[0], run[-1].cut[1]
    return f'"{"..." * before}{text[run[0].span[0] : run[-1].span[1]]}{"..." * after}"'


def label(turn: Turn, quoted: str, asks: bool) -> str:
    """In the language of what is quoted."""
    name = turn.speaker if speaker_key(turn.speaker) else None
    if len(CJK_CHARACTER.findall(quoted)) * LETTERS > len(quoted):
        return f"{name or CHINESE[turn.role]}{'问' if asks else ''}："
    return f"{name or turn.role.capitalize()}{' asked' if asks else ''}: "


def unshown(turn: Turn) -> list[str]:
    """What stands in a turn and cannot be quoted in a line."""
    return [name for name, pattern in UNSHOWN.items() if pattern.search(turn.text[:SEEN_CHARS])]


def unquoted(turns: Sequence[Turn], most: int) -> str:
    """The summary where nothing can be quoted."""
    seen = dict.fromkeys(label(turn, "", asks=False) + " ".join(names) for turn in turns if (names := unshown(turn)))
    text = " ".join(seen) or NOTHING
    return text if count_tokens(text) <= most else ""


def listed(found: Sequence[Extraction]) -> dict[str, tuple[str, ...]]:
    """Facts as short statements, by list. Of a key with one value the last counts; what is to be forgotten does not."""
    forgotten = "\n".join(order.text for each in found for order in each.commands if order.verb == "forget").casefold()
    made: dict[str, dict[str, str]] = {name: {} for name in LISTS.values()}
    for fact in (fact for each in found for fact in each.facts if fact.value.casefold() not in forgotten):
        said = made[LISTS[fact.category]]
        key = fact.key if fact.key in SINGLE_KEYS else f"{fact.key} {fact.value.casefold()}"
        said.pop(key, None)
        said[key] = stated(fact)
    return {name: tuple(said.values()) for name, said in made.items()}


def stated(fact: Fact) -> str:
    if fact.key in (fact.category, *PLAIN_KEYS):
        return fact.value
    return f"{fact.key.removeprefix('definition:').replace('_', ' ')}: {fact.value}"
