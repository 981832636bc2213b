"""Titles of answers and headers of columns, in words. `describe_columns` is the entry point: a frame has the words of
its groups and figures; of any other statement the names of its columns are written as words. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from recollect.apps.ask.interpret import Frame
from recollect.apps.ask.interpret.explain import ENGLISH, Wording, group_words, metric_words, singular
from recollect.apps.ask.interpret.frame import Group, Ref
from recollect.apps.ask.interpret.index import SchemaIndex
from recollect.apps.ask.interpret.words import is_chinese, split_name

CALL = re.compile(r"(count|sum|avg|min|max)\((distinct )?(.+)\)", re.IGNORECASE)
PLAIN_NAME = re.compile(r"[\w .\"`\[\]]+")
TITLE_CHARS = 200


def make_title(question: str, frame_label: str = "") -> str:
    """Return what an answer shows: the words of its frame, else the question."""
    title = frame_label or question.strip().rstrip("?？.。! ")
    return title if len(title) <= TITLE_CHARS else f"{title[: TITLE_CHARS - 1]}…"


def describe_columns(
    columns: Sequence[str], frame: Frame | None = None, index: SchemaIndex | None = None, question: str = ""
) -> tuple[str, ...]:
    """Return a header in words for each column of a result, no two alike."""
    plain = [write_name(column) for column in columns]
    made = describe_frame_columns(frame, index, question) if frame is not None and index is not None else plain
    if len(made) != len(columns):
        made = plain
    return tuple(
        header if made.count(header) == 1 else plain[n] if plain.count(plain[n]) == 1 else f"{header} ({columns[n]})"
        for n, header in enumerate(made)
    )


def describe_frame_columns(frame: Frame, index: SchemaIndex, question: str) -> list[str]:
    """Return the headers of a frame's statement, in the order in which render.py writes its columns."""
    wording = Wording(index, "zh" if is_chinese(question) else "en")
    made = [header for ref in frame.columns for header in name_ref(ref, wording)]
    shown = {ref.table for ref in frame.columns}
    if frame.metrics or frame.having:
        for group in frame.groups:
            is_shown = not group.grain and not group.of.column and group.of.table in shown
            made += [] if is_shown else name_group(group, wording)
    elif not made:
        made = name_ref(Ref(frame.subject), wording)
    made += [metric_words(metric, wording) + (" (%)" if metric.compute else "") for metric in frame.metrics]
    return [capitalize(each) for each in made]


def name_group(group: Group, wording: Wording) -> list[str]:
    if group.grain or group.of.column:
        return [group_words(group, wording)]
    return name_ref(group.of, wording)


def name_ref(ref: Ref, wording: Wording) -> list[str]:
    """Return the name of a column; a row has that of its table, or of each column of its label if there are several."""
    if ref.column:
        return [wording.column(ref)]
    if ref.expression:
        return [ref.name or wording.table(ref.table)]
    info = wording.index.tables[ref.table]
    names = info.label or info.key or tuple(info.columns)[:1]
    if len(names) == 1:
        return [wording.table(ref.table) if wording.language == "zh" else singular(wording.table(ref.table))]
    return [wording.column_name(Ref(ref.table, name)) for name in names]


def write_name(column: str) -> str:
    """Return a column's name as words: `total_sales` is "Total sales", `SUM(amount)` is "Total amount"."""
    call = CALL.fullmatch(column.strip())
    if call:
        function, distinct, inner = call[1].lower(), call[2], call[3]
        if inner == "*":
            return "Count"
        if PLAIN_NAME.fullmatch(inner):
            name = write_words(inner.rpartition(".")[2]).lower()
            return ENGLISH["count_distinct" if distinct and function == "count" else function].format(name)
    return capitalize(write_words(column)) if PLAIN_NAME.fullmatch(column) else column


def write_words(name: str) -> str:
    words = " ".join(split_name(name)) if name.isascii() else name
    return re.sub(r"\bid\b", "ID", words)


def capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]
