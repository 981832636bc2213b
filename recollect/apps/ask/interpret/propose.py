"""Proposing: complete candidate interpretations of a linked question, best first."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from recollect.apps.ask.interpret.compose import WIDTH, compose
from recollect.apps.ask.interpret.finish import finish
from recollect.apps.ask.interpret.followup import follow_up, is_last_rows, points_back
from recollect.apps.ask.interpret.frame import Filter, Frame, Period, Ref
from recollect.apps.ask.interpret.index import SchemaIndex, Target
from recollect.apps.ask.interpret.link import DefaultFilter, Linked, find_table
from recollect.apps.ask.interpret.periods import find_periods
from recollect.apps.ask.interpret.rank import Feature, Features, score
from recollect.apps.ask.interpret.render import CannotRender, base_table, render_frame
from recollect.apps.ask.interpret.work import Draft
from recollect.apps.ask.words import tokenize

RUN = 10  # candidates worth running: by measurement, more change nothing


@dataclass(frozen=True, slots=True)
class Candidate:
    """An interpretation with its SQL. `unexplained` are content words it leaves out, `guesses` what it assumed, `links`
    the words and what they were taken for."""

    id: str
    frame: Frame
    sql: str
    score: float
    features: Features = ()
    unexplained: tuple[str, ...] = ()
    guesses: tuple[str, ...] = ()
    links: tuple[tuple[str, Target], ...] = ()
    chart: str = ""
    changed: tuple[str, ...] = ()
    label: str = ""
    assumptions: tuple[str, ...] = ()  # default filters, the session's period, taught meanings

    def to_data(self) -> dict[str, Any]:
        """Return what is stored with the turn, so that the choice can be answered later."""
        return {"id": self.id, "label": self.label, "frame": self.frame.to_data(), "sql": self.sql, "chart": self.chart}


def candidate_from(data: Mapping[str, Any]) -> Candidate | None:
    """Return a stored choice, or None if its frame was written by another version."""
    frame = Frame.from_data(data["frame"])
    if frame is None:
        return None
    return Candidate(data["id"], frame, data["sql"], 0.0, chart=data.get("chart", ""), label=data.get("label", ""))


def frame_id(frame: Frame) -> str:
    return hashlib.sha256(json.dumps(frame.to_data(), sort_keys=True).encode()).hexdigest()[:12]


def propose(linked: Linked, *, width: int = WIDTH, most: int = RUN) -> list[Candidate]:
    """Return up to `most` candidates with different SQL, best first."""
    drafts = [draft for state in compose(linked, width) for draft in finish(state, linked)]
    if linked.last is not None:
        if points_back(linked.tokens):
            drafts = list(map(refer_back, drafts))
        else:
            drafts = [add_features(draft, *compare_with_last(draft, linked.last)) for draft in drafts]
        drafts += follow_up(linked, linked.last)
    drafts = [draft for draft in drafts if not leaves_out_taught(draft)] or drafts
    drafts.sort(key=lambda draft: -draft.score)
    return render_drafts((with_defaults(draft, linked) for draft in drafts), linked, most)


def compare_with_last(draft: Draft, last: Frame) -> Iterator[Feature]:
    """Yield what speaks against a question of its own after an answer: its figure is more likely meant than one that
    nobody named, and its rows are more likely meant than all rows that it was about."""
    frame = draft.frame.asked
    if last.metrics:
        yield "figure_guessed", float(implies_figure(draft))
    is_counted = any(each.aggregate == "count" for each in frame.metrics)
    is_bare = not (frame.conditions or frame.groups or is_counted)
    if is_bare and last.asked.conditions and not frame.tables.isdisjoint(last.tables):
        yield "conditions_dropped", 1.0


def implies_figure(draft: Draft) -> bool:
    """Whether nobody named the figure: after an answer its figure is more likely meant than any other."""
    return any(name == "figure_guessed" and amount for name, amount in draft.features)


def refer_back(draft: Draft) -> Draft:
    """Return a reading of a question that points to the last answer, with what speaks against it: it ignores these
    rows, or says nothing else about them."""
    if not any(map(is_last_rows, draft.state.facts)):
        return add_features(draft, ("follow_ignored", 1.0))
    frame = draft.frame
    is_new = frame.conditions > 1 or frame.columns or frame.metrics or frame.groups or frame.order
    return add_features(draft, ("repeats_last", float(not is_new)))


def add_features(draft: Draft, *features: Feature) -> Draft:
    return replace(draft, features=(*draft.features, *features), score=draft.score + score(features))


def leaves_out_taught(draft: Draft) -> bool:
    """Whether a word that somebody taught was skipped. Such readings count only if there is no other."""
    return any(name == "skip_taught" for name, _ in draft.features)


def with_defaults(draft: Draft, linked: Linked) -> Draft:
    """Add the default filters and the session's period, where the question says nothing about them."""
    for each in linked.vocabulary.filters:
        draft = with_default_filter(draft, each, linked.index)
    base = base_table(draft.frame, linked.index)
    moment, focus = linked.index.tables[base].main_moment, linked.vocabulary.focus
    if not focus or not moment or draft.frame.periods:
        return draft
    for span in find_periods(tokenize(focus), linked.today)[:1]:
        period = Period(Ref(base, moment), span.start.isoformat(), span.end.isoformat(), span.text)
        frame = replace(draft.frame, periods=(period,))
        draft = replace(draft, frame=frame, assumptions=(*draft.assumptions, focus))
    return draft


def with_default_filter(draft: Draft, default: DefaultFilter, index: SchemaIndex) -> Draft:
    """Add a default filter, if the frame touches its table and says nothing about its columns."""
    frame, table = draft.frame, find_table(default.table, index)
    words = {word.casefold() for word in re.findall(r"\w+", default.condition)}
    is_said = any(ref.table == table and ref.column.casefold() in words for ref in frame.refs())
    if is_said or table not in frame.tables or index.joins.path(base_table(frame, index), table) is None:
        return draft
    text = default.text or default.condition
    condition = Filter(Ref(table, name=text), "where", (default.condition,), is_text=False)
    frame = replace(frame, filters=(*frame.filters, condition))
    return replace(draft, frame=frame, assumptions=(*draft.assumptions, text))


def render_drafts(drafts: Iterable[Draft], linked: Linked, most: int) -> list[Candidate]:
    from recollect.apps.ask.interpret.explain import label_frame

    seen: set[Frame] = set()
    statements: set[str] = set()
    made: list[Candidate] = []
    for draft in drafts:
        if draft.frame in seen:
            continue
        seen.add(draft.frame)
        try:
            sql = render_frame(draft.frame, linked.index)
        except CannotRender:
            continue
        if sql in statements:
            continue
        statements.add(sql)
        made.append(make_candidate(draft, sql, linked))
        if len(made) == most:
            break
    return [replace(each, label=label_frame(each.frame, linked.index, linked.question)) for each in made]


def make_candidate(draft: Draft, sql: str, linked: Linked) -> Candidate:
    tokens = linked.tokens
    words = tuple(tokens[at].text for at in draft.state.skipped)
    links = tuple((" ".join(t.text for t in tokens[start:end]), target) for start, end, target in draft.state.used)
    return Candidate(
        frame_id(draft.frame), draft.frame, sql, draft.score, draft.features, words, draft.guesses, links, draft.chart,
        draft.changed, assumptions=(*draft.assumptions, *(f.text for f in draft.state.facts if f.kind == "define")),
    )  # fmt: skip
