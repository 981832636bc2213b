"""Packing: recalled items and a token budget in, a context out. Everything that does not fit is listed with its reason.

Five sections share the budget: terms, memories, episodes, recalled turns, recent turns. Each has a share; what one does
not use goes to the others. Every line has its source, and nothing appears twice. Turns of one day of a session are
shown together under their date, in order; days are ordered by their best hit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from recollect.recall.excerpt import excerpt
from recollect.recall.lexemes import count_tokens
from recollect.values.conversation import Turn
from recollect.values.memory import DEFINES
from recollect.values.query import Context, EpisodeHit, Hit, LeftOut, Line, MemoryHit, Query, Recall, Section
from recollect.values.resolution import Resolution
from recollect.values.text import stem_term

TITLES: Mapping[Section, str] = {
    "terms": "Terms:",
    "known": "Known:",
    "episodes": "Earlier, in short:",
    "recalled": "Recalled from earlier:",
    "recent": "Just said:",
}
# Of the whole budget, before what is unused flows on. What was just said gets at most half of the rest.
SHARES: Mapping[Section, float] = {"terms": 0.1, "known": 0.08, "episodes": 0.05}
LEAST_SHARE = 72  # tokens: a share that holds nothing is none; at most a quarter of a small budget
EPISODE_CHARS = 200  # of a summary; it points to the turns, which say more
ROOM_TO_STOP = 24  # with less room than this, looking on is not worth it
MAX_NAMED = 20  # of what was left out
WIDEST_NUMBER = 999
Day = tuple[str | None, str]


@dataclass(slots=True)
class _Page:
    """A context being filled; its lines are ordered and numbered at the end."""

    room: int
    lines: list[Line] = field(default_factory=list)
    sections: set[Section] = field(default_factory=set)  # that have a line
    days: dict[tuple[Section, Day], int] = field(default_factory=dict)  # in the order of their first line

    def add(self, line: Line, most: int | None = None) -> bool:
        """Add a line if it fits into the room, and into `most` if given. Return whether it did."""
        headings = self.headings(line)
        tokens = line.tokens + headings
        if tokens > self.room or (most is not None and tokens > most):
            return False
        self.sections.add(line.section)
        self.days.setdefault((line.section, line.day), len(self.days))
        self.lines.append(replace(line, tokens=tokens) if headings else line)
        self.room -= tokens
        return True

    def headings(self, line: Line) -> int:
        """Return the tokens of a new section's title and a new day's date."""
        title = 0 if line.section in self.sections else count_tokens(TITLES[line.section]) + 2
        is_new_day = line.day[1] and (line.section, line.day) not in self.days
        return title + (count_tokens(line.day[1]) + 1 if is_new_day else 0)

    def fill(self, lines: Iterable[Line], share: int) -> list[Line]:
        """Add as many lines as the share allows and return the others."""
        rest, left = [], share
        for line in lines:
            before = self.room
            if self.add(line, left):
                left -= before - self.room
            else:
                rest.append(line)
        return rest

    def drop(self, sources: set[str]) -> None:
        """Remove lines to make room again; the tokens of their headings are not returned."""
        gone = [line for line in self.lines if line.source in sources]
        self.lines = [line for line in self.lines if line.source not in sources]
        self.sections = {line.section for line in self.lines}
        self.room += sum(count_room(line.text, line.speaker) for line in gone)

    def ordered(self) -> tuple[Line, ...]:
        """Return the lines by section; in each, the best day first, and within a day in order."""
        sections = list(TITLES)

        def place(line: Line) -> tuple[int, int, int]:
            is_found = line.section == "recalled"
            return sections.index(line.section), self.days[line.section, line.day] if is_found else 0, line.order

        return tuple(replace(line, number=n) for n, line in enumerate(sorted(self.lines, key=place), 1))


def pack(recall: Recall, recent: Sequence[Turn]) -> Context:
    query = recall.query
    page, left_out = _Page(query.budget), list[LeftOut]()
    said = [build_turn_line(turn, query, recall.terms, "recent") for turn in recent]
    facts = [hit for hit in recall.memories if hit.memory.kind not in DEFINES]
    known = [build_line("known", hit.source, format_memory(hit), n) for n, hit in enumerate(facts)]
    episodes = [build_episode_line(n, hit) for n, hit in enumerate(recall.episodes)]
    rest = page.fill(build_term_lines(recall), compute_share("terms", query.budget))
    rest += page.fill(known, compute_share("known", query.budget))
    kept = count_reserved(episodes, compute_share("episodes", query.budget))
    older = page.fill(reversed(said), (page.room - kept) // 2 if recall.hits else page.room - kept)
    page.room -= kept
    hits = fill_hits(page, recall.hits, query, recall.terms, {turn.ref for turn in recent}, left_out)
    page.room += kept
    rest += page.fill(drop_covered(episodes, recall.episodes, page.lines), page.room)
    for line in fill_rest(page, [*hits, *rest, *older], recall.episodes):
        left_out.append(
            LeftOut(line.source, f"did not fit into the {max(page.room, 0)} tokens left", is_over_budget=True)
        )
    lines = page.ordered()
    text = format_lines(lines)
    return Context(recall, text, lines, count_tokens(text), tuple(left_out[:MAX_NAMED]))


def compute_share(section: Section, budget: int) -> int:
    return max(int(budget * SHARES[section]), min(LEAST_SHARE, budget // 4))


def count_reserved(lines: Sequence[Line], most: int) -> int:
    """Return the room to reserve for as many lines as fit into a share with their title."""
    room = title = count_tokens(TITLES[lines[0].section]) + 2 if lines else 0
    for line in lines:
        if room + line.tokens <= most:
            room += line.tokens
    return room if room > title else 0


def fill_rest(page: _Page, lines: Sequence[Line], episodes: Sequence[EpisodeHit]) -> Sequence[Line]:
    """Return the lines that still do not fit. An episode is removed once all its turns are in, which makes room: hence
    two rounds."""
    for _ in range(2):
        lines = [line for line in drop_covered(lines, episodes, page.lines) if not page.add(line)]
        page.drop(find_covered(episodes, page.lines))
    return lines


def fill_hits(
    page: _Page, hits: Iterable[Hit], query: Query, terms: Mapping[str, float], shown: set[str], left_out: list[LeftOut]
) -> list[Line]:
    """Add the best turns while there is room, and return those that were too long."""
    used, too_long = 0, []
    for hit in hits:
        if len(left_out) == MAX_NAMED:
            break
        if hit.source in shown:
            continue
        if query.max_turns is not None and used >= query.max_turns:
            left_out.append(LeftOut(hit.source, f"only {query.max_turns} turns were asked for"))
        elif page.room < ROOM_TO_STOP:
            left_out.append(LeftOut(hit.source, "the budget was used up", is_over_budget=True))
        elif page.add(line := mark_line(build_turn_line(hit.turn, query, terms, "recalled"), hit)):
            used += 1
        elif query.max_turns is None:
            too_long.append(line)
        else:
            left_out.append(LeftOut(hit.source, "the budget was used up", is_over_budget=True))
    return too_long


def build_turn_line(turn: Turn, query: Query, terms: Mapping[str, float], section: Section) -> Line:
    text = turn.text if len(turn.text) <= query.turn_chars else excerpt(turn.text, query.turn_chars, terms)
    speaker = turn.speaker or turn.role
    return Line(
        number=WIDEST_NUMBER,
        section=section,
        source=turn.ref,
        text=text,
        tokens=count_room(text, speaker),
        excerpt=len(text) < len(turn.text),
        speaker=speaker,
        day=(turn.session, turn.at.date().isoformat() if turn.at else ""),
        order=turn.index or 0,
    )


def mark_line(line: Line, hit: Hit) -> Line:
    """Return the line of a hit, with a note if something it says does not hold any more, or perhaps not. The note is
    short: it takes room from other turns."""
    if not hit.outdated:
        return line
    note = "outdated" if any(part.is_sure for part in hit.outdated) else "maybe outdated"
    text = f"{line.text} ({note})"
    return replace(line, text=text, tokens=count_room(text, line.speaker))


def format_memory(hit: MemoryHit) -> str:
    """Return a memory's text with its end date, and with its owner if that is the project."""
    memory = hit.memory
    ended = f" (until {memory.valid_to:%Y-%m-%d})" if memory.valid_to else ""
    whose = " (project)" if hit.tier == "project" else ""
    maybe = " (maybe outdated)" if hit.is_outdated and not ended else ""
    return " ".join(memory.text.split()) + ended + maybe + whose


def build_term_lines(recall: Recall) -> list[Line]:
    """Return the meanings of the question's terms from the session or the ontology, then definitions among memories;
    each term and source once. Resolved terms win."""
    resolved = [(stem_term(found.term), *describe_term(found)) for found in recall.resolved]
    stems = {stem for stem, _, _ in resolved}
    defined = [
        (hit.memory.key.casefold(), hit.source, format_memory(hit))
        for hit in recall.memories
        if hit.memory.kind in DEFINES and stem_term(hit.memory.key) not in stems
    ]
    texts: dict[str, str] = {}
    terms: set[str] = set()
    for term, source, text in [*resolved, *defined]:
        if term not in terms:
            terms.add(term)
            texts.setdefault(source, text)
    return [build_line("terms", source, text, n) for n, (source, text) in enumerate(texts.items())]


def describe_term(found: Resolution) -> tuple[str, str]:
    """Return the source of a term and its text. A meaning of this session has the word itself as its source."""
    source = f"term:{found.source}:{found.term}" if found.tier == "session" else f"term:{found.source}"
    sql = f" [{found.sql}]" if found.sql else ""
    return source, f"{found.term}: {found.meaning}{sql} ({found.tier})"


def build_episode_line(order: int, hit: EpisodeHit) -> Line:
    date = f"{hit.episode.said_from:%Y-%m-%d}"
    text = hit.text if len(hit.text) <= EPISODE_CHARS else hit.text[: EPISODE_CHARS - 1].rstrip() + "…"
    return build_line("episodes", hit.source, f"{date}: {text}", order, excerpt=text != hit.text)


def build_line(section: Section, source: str, text: str, order: int, excerpt: bool = False) -> Line:
    """Return a line without a speaker."""
    return Line(WIDEST_NUMBER, section, source, text, count_room(text), excerpt, order=order)


def drop_covered(lines: Sequence[Line], hits: Sequence[EpisodeHit], shown: Sequence[Line]) -> list[Line]:
    """Return the lines without episodes whose turns are all shown."""
    gone = find_covered(hits, shown)
    return [line for line in lines if line.source not in gone]


def find_covered(hits: Sequence[EpisodeHit], shown: Sequence[Line]) -> set[str]:
    """Return the episodes whose turns are all shown."""
    sources = {line.source for line in shown}
    return {
        hit.source
        for hit in hits
        if sources.issuperset(f"{hit.episode.session}#{i}" for i in range(hit.episode.first, hit.episode.last + 1))
    }


def format_lines(lines: Sequence[Line]) -> str:
    """Return the lines by section; each run of lines of one day under its date."""
    sections = []
    for section, group in groupby(lines, key=lambda line: line.section):
        shown = [TITLES[section]]
        for (_, date), said in groupby(group, key=lambda line: line.day):
            shown += [date] if date else []
            shown += [format_line(line.number, line.text, line.speaker) for line in said]
        sections.append("\n".join(shown))
    return "\n\n".join(sections)


def format_line(number: int, text: str, speaker: str | None) -> str:
    return f"[{number}] {speaker}: {text}" if speaker else f"[{number}] {text}"


def count_room(text: str, speaker: str | None = None) -> int:
    """Return the tokens of a line, including its end, before it has its number."""
    return count_tokens(format_line(WIDEST_NUMBER, text, speaker)) + 1
