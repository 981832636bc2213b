"""Pack: hits and a budget in, a context out. Whatever does not fit is named with its reason.

Lines of one day of one session stand together under their date, in the order they were said; the days come in the order
of their best hit. That reads as conversation, and it saves a date per line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from recollect.model.conversation import Turn
from recollect.model.excerpt import excerpt
from recollect.model.search import Context, Hit, LeftOut, Line, Query, Recall
from recollect.model.tokens import count_tokens

RECALLED = "Recalled from earlier:"
RECENT = "Just said:"
ROOM_TO_STOP = 24  # with less room than this, looking on is not worth it
MOST_NAMED = 20  # of what was left out
WIDEST_NUMBER = 999
Day = tuple[str | None, str]


@dataclass(slots=True)
class _Page:
    """A context while it is being filled; its lines are ordered and numbered at the end."""

    room: int
    lines: list[Line] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    days: dict[tuple[bool, Day], int] = field(default_factory=dict)  # in the order of their first line

    def add(self, turn: Turn, query: Query, terms: Mapping[str, float], recent: bool) -> bool:
        text = turn.text if len(turn.text) <= query.turn_chars else excerpt(turn.text, query.turn_chars, terms)
        line = Line(WIDEST_NUMBER, turn, text, 0, len(text) < len(turn.text), recent)
        new_day = (recent, day(turn)) not in self.days
        tokens = count_tokens(rendered(line)) + 1 + (count_tokens(day(turn)[1]) + 1 if new_day else 0)
        if tokens > self.room:
            self.left_out.append(LeftOut(turn.ref, f"{tokens} tokens did not fit into the {max(self.room, 0)} left"))
            return False
        self.days.setdefault((recent, day(turn)), len(self.days))
        self.lines.append(replace(line, tokens=tokens))
        self.room -= tokens
        return True

    def ordered(self) -> tuple[Line, ...]:
        """What was found, the best day first; then what was just said, in order."""

        def place(line: Line) -> tuple[bool, int, int]:
            index = line.turn.index or 0
            return line.recent, 0 if line.recent else self.days[line.recent, day(line.turn)], index

        return tuple(replace(line, number=n) for n, line in enumerate(sorted(self.lines, key=place), 1))


def pack(recall: Recall, recent: Sequence[Turn]) -> Context:
    """The recent turns take at most half of the budget, the hits the rest, best first."""
    query = recall.query
    page = _Page(query.budget - count_tokens(f"{RECALLED}\n\n{RECENT}\n"))
    for_hits = page.room - page.room // 2 if recent else page.room
    page.room -= for_hits
    for turn in reversed(recent):
        page.add(turn, query, recall.terms, recent=True)
    page.room += for_hits
    fill(page, recall.hits, query, recall.terms, {turn.ref for turn in recent})
    lines = page.ordered()
    text = composed(lines)
    return Context(recall, text, lines, count_tokens(text), tuple(page.left_out[:MOST_NAMED]))


def fill(page: _Page, hits: Iterable[Hit], query: Query, terms: Mapping[str, float], shown: set[str]) -> None:
    used = 0
    for hit in hits:
        if hit.source in shown:
            continue
        if query.max_turns is not None and used >= query.max_turns:
            page.left_out.append(LeftOut(hit.source, f"only {query.max_turns} turns were asked for"))
        elif page.room < ROOM_TO_STOP:
            page.left_out.append(LeftOut(hit.source, "the budget was used up"))
        elif page.add(hit.turn, query, terms, recent=False):
            used += 1


def composed(lines: Sequence[Line]) -> str:
    sections = [
        (RECALLED, [line for line in lines if not line.recent]),
        (RECENT, [line for line in lines if line.recent]),
    ]
    return "\n\n".join("\n".join([title, *dated(section)]) for title, section in sections if section)


def dated(lines: Sequence[Line]) -> list[str]:
    """Each run of lines of one day, under its date."""
    shown: list[str] = []
    for (_, date), group in groupby(lines, key=lambda line: day(line.turn)):
        shown += [*([date] if date else []), *map(rendered, group)]
    return shown


def day(turn: Turn) -> Day:
    return turn.session, f"{turn.at:%Y-%m-%d}" if turn.at else ""


def rendered(line: Line) -> str:
    return f"[{line.number}] {line.turn.speaker or line.turn.role}: {line.text}"
