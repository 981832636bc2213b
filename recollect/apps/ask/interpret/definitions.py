"""Definitions: a meaning given in words ("logged in within 30 days") becomes conditions, by the same linking and
composing that reads questions."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.apps.ask.interpret.frame import Frame
from recollect.apps.ask.interpret.link import Linked, Vocabulary, Word, find_table, link_names, link_question
from recollect.apps.ask.interpret.words import tokenize
from recollect.apps.ask.interpret.work import Draft

WIDTH, MOST = 20, 3
CLOSE = 0.3  # score by which another reading must be worse
LOST = ("left_over", "skip_operator", "open_unused", "table_unused")
LEAD = "who"


def read_meaning(word: Word, linked: Linked) -> list[tuple[Frame, float]]:
    """Return up to three condition frames for a taught meaning, each with a score; none if it has no conditions."""
    table = find_table(word.table, linked.index) or subject_of(linked) or subject_of_meaning(word, linked)
    drafts = read_drafts(word.meaning, table, linked) if table else []
    found = dict.fromkeys((conditions_of(draft.frame) for draft in drafts), 0.8)
    if drafts and is_whole(drafts[0], drafts):
        found[conditions_of(drafts[0].frame)] = 1.0
    return [(frame, score) for frame, score in found.items() if frame.conditions][:MOST]


def read_drafts(meaning: str, table: str, linked: Linked) -> list[Draft]:
    """Return the readings of a meaning as conditions on the rows of a table, best first."""
    from recollect.apps.ask.interpret.compose import compose
    from recollect.apps.ask.interpret.finish import finish

    subject = linked.index.tables[table].title
    inner = link_question(f"{subject} {LEAD} {meaning}", linked.index, Vocabulary(), today=linked.today)
    drafts = [draft for state in compose(inner, WIDTH) for draft in finish(state, inner)]
    drafts = [draft for draft in drafts if draft.frame.subject == table and conditions_of(draft.frame).conditions]
    return sorted(drafts, key=lambda draft: -draft.score)


def subject_of_meaning(word: Word, linked: Linked) -> str:
    """Return the table of the column that the meaning names best, for a word that stands alone ("big spenders")."""
    tokens = tokenize(word.meaning)
    named = [link for link in link_names(tokens, linked.index) if link.target.column]
    best = max(named, key=lambda link: (link.end - link.start, link.score), default=None)
    return best.target.table if best else ""


def is_whole(draft: Draft, drafts: Sequence[Draft]) -> bool:
    """Whether the conditions say all that the meaning says, and no other reading is nearly as good."""
    frame, conditions = draft.frame, conditions_of(draft.frame)
    is_lost = any(name in LOST and amount > 0 for name, amount in draft.features)
    rivals = {conditions_of(each.frame) for each in drafts if draft.score - each.score < CLOSE} - {conditions}
    is_more = frame.metrics or frame.groups or frame.order
    return not (draft.state.skipped or is_lost or rivals or is_more)


def conditions_of(frame: Frame) -> Frame:
    return Frame(frame.subject, filters=frame.filters, periods=frame.periods, existence=frame.existence)


def subject_of(linked: Linked) -> str:
    """Return the table that the question names first."""
    named = [link for link in link_names(linked.tokens, linked.index) if link.kind == "entity" and link.score > 0.75]
    return max(named, key=lambda link: (link.score, -link.start)).target.table if named else ""
