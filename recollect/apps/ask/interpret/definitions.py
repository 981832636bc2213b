"""Definitions: a meaning given in words ("logged in within 30 days") becomes conditions, by the same linking and
composing that reads questions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from recollect.apps.ask.interpret.frame import Frame, Period
from recollect.apps.ask.interpret.index import SchemaIndex
from recollect.apps.ask.interpret.link import CLEAR, Linked, Vocabulary, Word, find_table, link_names, link_question
from recollect.apps.ask.interpret.periods import UNITS, until_today
from recollect.apps.ask.interpret.variants import list_rows
from recollect.apps.ask.interpret.work import Draft
from recollect.apps.ask.words import Token, find_operators, tokenize

WIDTH, MOST = 20, 3
CLOSE = 0.3  # score by which another reading must be worse
LOST = ("left_over", "skip_operator", "open_unused", "table_unused")
LEAD = "who"


@dataclass(frozen=True, slots=True)
class Reading:
    """A draft, and the conditions on rows that it comes to."""

    draft: Draft
    conditions: Frame


def read_meaning(word: Word, linked: Linked, end: int = 0) -> list[tuple[Frame, float]]:
    """Return up to three condition frames for a taught meaning, each with a score; none if it has no conditions. `end`
    is where the word ends in the question."""
    read = (read_conditions(text, table, linked) for table, text in list_phrasings(word, linked, end))
    made = list(filter(None, read))
    readings = next((each for each in made if is_whole(each[0], each)), made[0] if made else [])
    found = dict.fromkeys((each.conditions for each in readings), 0.8)
    if readings and is_whole(readings[0], readings):
        found[readings[0].conditions] = 1.0
    return list(found.items())[:MOST]


def list_phrasings(word: Word, linked: Linked, end: int) -> Iterator[tuple[str, str]]:
    """Yield the tables whose rows a meaning may describe, each with the meaning in a form that can be read: "ordered
    lately" is about the rows that the word describes or the question is about, "customers who spent over 100" names
    its rows itself."""
    head = find_head(word.meaning, linked.index)
    before = linked.last.subject if linked.last and not find_subject(linked) else ""  # "and the inactive ones"
    described = find_table(word.table, linked.index) or find_subject(linked, end) or before
    others = () if described else (find_subject(linked), "" if head else subject_of_meaning(word, linked))
    for table in filter(None, dict.fromkeys((described, head, *others))):
        title = linked.index.tables[table].title
        yield table, word.meaning if table == head else f"{title} {LEAD} {word.meaning}"


def is_question(message: str) -> bool:
    """Return whether a message is a question, or a change of the last answer ("and in the south?"), and no meaning."""
    first = [each for end in (1, 2) for each in find_operators(tokenize(message)[:end])]
    return message.rstrip().endswith(("?", "？")) or any(
        each.kind == "follow" and each.value == "opens" for each in first
    )


def find_head(meaning: str, index: SchemaIndex) -> str:
    """Return the table that a meaning begins with, if it says more about its rows: "customers who spent over 100"."""
    tokens = tokenize(meaning)
    start = next((at for at in range(len(tokens)) if not is_glue(tokens[at])), 0)
    heads = [
        link for link in link_names(tokens, index)
        if link.kind == "entity" and link.start == start and link.end < len(tokens) and link.score > CLEAR
    ]  # fmt: skip
    return max(heads, key=lambda link: (link.end, link.score)).target.table if heads else ""


def is_glue(token: Token) -> bool:
    return any(operator.kind == "glue" for operator in find_operators([token]))


def read_conditions(text: str, table: str, linked: Linked) -> list[Reading]:
    """Return the readings of a text as conditions on the rows of a table, best first; none that leaves a word out,
    because the rest may say something else."""
    from recollect.apps.ask.interpret.compose import compose
    from recollect.apps.ask.interpret.finish import finish

    inner = link_question(text, linked.index, Vocabulary(), today=linked.today)
    states = [state for state in compose(inner, WIDTH) if not state.skipped]
    drafts = [draft for state in states for draft in finish(state, inner) if draft.frame.subject == table]
    drafts.sort(key=lambda draft: -draft.score)
    readings = ((draft, conditions_of(draft.frame, linked)) for draft in drafts)
    return [Reading(draft, found) for draft, found in readings if found is not None and found.conditions]


def subject_of_meaning(word: Word, linked: Linked) -> str:
    """Return the table of the column that the meaning names best, for a word that stands alone ("big spenders")."""
    tokens = tokenize(word.meaning)
    named = [link for link in link_names(tokens, linked.index) if link.target.column]
    best = max(named, key=lambda link: (link.end - link.start, link.score), default=None)
    return best.target.table if best else ""


def is_whole(reading: Reading, readings: Sequence[Reading]) -> bool:
    """Whether the conditions say all that the meaning says, and no other reading is nearly as good."""
    draft, frame = reading.draft, reading.draft.frame
    is_lost = any(name in LOST and amount > 0 for name, amount in draft.features)
    rivals = {each.conditions for each in readings if draft.score - each.draft.score < CLOSE} - {reading.conditions}
    is_more = not frame.having and (frame.metrics or frame.groups or frame.order)
    return not (is_lost or rivals or is_more)


def conditions_of(frame: Frame, linked: Linked) -> Frame | None:
    """Return the conditions on rows. A figure of each year ("annual spend") is that of the last year."""
    units = [group for group in frame.groups if group.grain in UNITS.values()]
    spans = ((group, until_today(linked.today, UNITS[group.grain], 1)) for group in units)
    periods = [Period(group.of, start.isoformat(), end.isoformat()) for group, (start, end, _) in spans]
    groups = tuple(group for group in frame.groups if group not in units)
    return list_rows(replace(frame, groups=groups, periods=(*frame.periods, *periods)), linked.index)


def find_subject(linked: Linked, start: int | None = None) -> str:
    """Return the table that the question names first, or at one place."""
    named = [link for link in link_names(linked.tokens, linked.index) if link.kind == "entity" and link.score > 0.75]
    named = [link for link in named if start in (None, link.start)]
    return max(named, key=lambda link: (link.score, -link.start)).target.table if named else ""
