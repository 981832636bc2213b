"""Pack: hits and a budget in, a context out. Whatever does not fit is named with its reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from recollect.model.conversation import Turn
from recollect.model.excerpt import excerpt
from recollect.model.search import Context, Hit, LeftOut, Line, Query, Recall
from recollect.model.tokens import count_tokens

RECALLED = "Recalled from earlier:"
RECENT = "Just said:"
ROOM_TO_STOP = 24  # with less room than this, looking on is not worth it
MOST_NAMED = 20  # of what was left out
WIDEST_NUMBER = 999


@dataclass(slots=True)
class _Page:
    """A context while it is being filled; its lines are numbered at the end."""

    room: int
    lines: list[Line] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)

    def add(self, turn: Turn, query: Query, terms: Mapping[str, float], recent: bool) -> bool:
        text = turn.text if len(turn.text) <= query.turn_chars else excerpt(turn.text, query.turn_chars * 2 // 3, terms)
        line = Line(WIDEST_NUMBER, turn, text, 0, len(text) < len(turn.text), recent)
        tokens = count_tokens(rendered(line)) + 1
        if tokens > self.room:
            self.left_out.append(LeftOut(turn.ref, f"{tokens} tokens did not fit into the {max(self.room, 0)} left"))
            return False
        self.lines.append(replace(line, tokens=tokens))
        self.room -= tokens
        return True


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
    lines = numbered(page.lines)
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


def numbered(lines: Sequence[Line]) -> tuple[Line, ...]:
    """What was found, best first; then what was just said, in order."""
    found = [line for line in lines if not line.recent]
    recent = [line for line in reversed(lines) if line.recent]
    return tuple(replace(line, number=number) for number, line in enumerate(found + recent, 1))


def composed(lines: Sequence[Line]) -> str:
    found = [rendered(line) for line in lines if not line.recent]
    recent = [rendered(line) for line in lines if line.recent]
    sections = [(RECALLED, found), (RECENT, recent)]
    return "\n\n".join("\n".join([title, *items]) for title, items in sections if items)


def rendered(line: Line) -> str:
    day = f"{line.turn.at:%Y-%m-%d} " if line.turn.at else ""
    return f"[{line.number}] {day}{line.turn.speaker or line.turn.role}: {line.text}"
