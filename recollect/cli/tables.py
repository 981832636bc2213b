"""Results as people read them: tables, and dim lines for details."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any

from rich import box
from rich.console import Console, Group, RenderableType
from rich.style import StyleType
from rich.table import Table
from rich.text import Text

from recollect import Explanation, Memory, Recall, Receipt
from recollect.cli.output import make_text
from recollect.values.audit import ExplainedHit, ExplainedMemory

MAX_CELL_CHARS = 400  # characters of a turn in a table; --json and history show all of it


class TextTable(Table):
    """A table that shows string cells literally, never as markup."""

    def add_row(
        self, *renderables: RenderableType | None, style: StyleType | None = None, end_section: bool = False
    ) -> None:
        cells = [make_text(cell) if isinstance(cell, str) else cell for cell in renderables]
        super().add_row(*cells, style=style, end_section=end_section)


Row = Iterable[RenderableType | None]


def make_table(*headings: str, rows: Iterable[Row] = (), title: str | None = None) -> TextTable:
    table = TextTable(box=box.SIMPLE_HEAD, title=title and make_text(title), title_justify="left", pad_edge=False)
    for heading in headings:
        table.add_column(make_text(heading), overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


Column = str | tuple[str, str | Callable[[Any], Any]]


def show_list(*columns: Column, empty: str = "", copied: bool = False) -> Callable[[Console, Sequence[Any]], None]:
    """Return a function that prints values as a table, or `empty` if there are none. A column is the name of an
    attribute, or a heading with an attribute or with a function of the value. With `copied` the first is not folded."""
    named = dict((each, each) if isinstance(each, str) else each for each in columns)
    readers = [attrgetter(source) if isinstance(source, str) else source for source in named.values()]

    def show(console: Console, values: Sequence[Any]) -> None:
        if not values and empty:
            console.print(empty)
            return
        table = make_table(*named, rows=([format_cell(read(value)) for read in readers] for value in values))
        table.columns[0].no_wrap = copied
        console.print(table)

    return show


def format_cell(value: Any) -> RenderableType:
    """Return a value as a cell: a time in minutes, a number with separators, a share with two digits."""
    match value:
        case None:
            return ""
        case Text():
            return value
        case datetime():
            return format_time(value)
        case float():
            return f"{value:.2f}"
        case int():
            return f"{value:,}"
        case tuple() | list():
            return ", ".join(map(str, value))
    return str(value)


def make_fact_table(facts: Mapping[str, str]) -> TextTable:
    """Return a table of names and values without a heading."""
    table = make_table("", "", rows=facts.items())
    table.show_header = False
    return table


def format_time(at: datetime | None) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M}" if at else ""


def format_day(at: datetime | None) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d}" if at else ""


def format_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items()) or "none"


def shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_CELL_CHARS else line[: MAX_CELL_CHARS - 1] + "…"


def format_origin(memory: Memory) -> str:
    """Return the turns a memory was learned from, or how it was learned without any."""
    return ", ".join(memory.refs) or memory.source


def show_recall(console: Console, recall: Recall) -> None:
    if recall.memories or recall.episodes or recall.resolved:
        console.print(make_known_table(recall))
    if recall.hits:
        rows: Iterable[Row] = (
            (str(rank), turn.ref, format_time(turn.at), turn.speaker or turn.role, make_reason_cell(turn.text, hit.why))
            for rank, hit in enumerate(recall.hits, 1)
            for turn in [hit.turn]
        )
        console.print(make_table("#", "source", "when (UTC)", "who", "text, and why", rows=rows))
    else:
        console.print("No message was found." if recall.memories else "Nothing was found.")
    show_notes(console, recall)
    console.print(
        make_text(f"{len(recall.hits)} of {recall.found} found, by {recall.path}, in the {recall.scope_used}", "dim"),
        make_text(f"request {recall.request_id}", "dim"),
        sep="\n",
    )


def make_known_table(recall: Recall) -> TextTable:
    """Return the terms, memories and episodes of a recall."""
    rows = [
        *(("term", each.source or "", each.tier, f"{each.term}: {each.meaning}", each.why) for each in recall.resolved),
        *((hit.memory.kind, format_origin(hit.memory), hit.tier, hit.text, hit.why) for hit in recall.memories),
        *(("episode", each.source, each.tier, each.text, each.why) for each in recall.episodes),
    ]
    shown = ((*head, make_reason_cell(text, why)) for *head, text, why in rows)
    return make_table("kind", "source", "tier", "known, and why", rows=shown)


def make_reason_cell(text: str, why: str) -> RenderableType:
    """Return a text with its reason below it, which fits a narrow terminal too."""
    return Group(make_text(shorten(text)), make_text(why, "dim"))


def format_memory_value(memory: Memory) -> Text:
    reason = f": {memory.reason}" if memory.reason else ""
    status = "" if memory.status == "active" else f" ({memory.status}{reason})"
    return make_text(shorten(memory.value)) + make_text(status, "dim")


show_memories = show_list(
    *("id", "kind", "key", ("value", format_memory_value), ("sure", "confidence")),
    ("from", lambda memory: format_day(memory.valid_from)),
    ("to", lambda memory: format_day(memory.valid_to)),
    ("source", format_origin),
    empty="No memories.",
    copied=True,
)


def show_notes(console: Console, recall: Recall) -> None:
    """Show why the search was widened, and what could not be done."""
    widened = [f"widened: {recall.widened}"] if recall.widened else []
    for note in [*widened, *(f"note: {note}" for note in recall.notes)]:
        console.print(make_text(note, "yellow"))


show_history = show_list(
    ("source", "ref"), ("when (UTC)", "at"), ("who", lambda turn: turn.speaker or turn.role), "text"
)


def show_receipt(console: Console, receipt: Receipt, verb: str = "Forgotten", heading: str = "rows erased") -> None:
    if receipt.memory:
        subject = f"memory {receipt.memory}"
    else:
        subject = f"session {receipt.session}" if receipt.session else "everything"
    console.print(make_text(f"{verb}: {subject} of {receipt.user}"))
    table = make_table("table", heading, rows=[(name, f"{count:,}") for name, count in receipt.rows.items()])
    table.add_section()
    table.add_row("total", f"{receipt.total:,}")
    console.print(table)
    if receipt.rebuilt:
        console.print(f"Memories rebuilt from their other evidence: {receipt.rebuilt:,}")


def show_explanation(console: Console, explanation: Explanation) -> None:
    session = f", in session {explanation.session}" if explanation.session else ""
    widened = f" (widened: {explanation.widened})" if explanation.widened else ""
    tokens = f" in {explanation.tokens} of {explanation.budget} tokens" if explanation.verb == "context" else ""
    facts = {
        "asked": f"{format_time(explanation.created_at)} UTC{session}",
        "looked": f"in the {explanation.scope_used}{widened}, by {explanation.path}, {explanation.latency_ms} ms",
        "found": f"{explanation.found}, used {explanation.used}{tokens}",
        "words": format_weights(explanation.terms),
        "episodes": ", ".join(explanation.episodes),
        "left out": "; ".join(f"{each.source}: {each.reason}" for each in explanation.left_out),
        "notes": "; ".join(explanation.notes),
    }
    console.print(make_text(f"{explanation.verb}: {explanation.query}", "bold"))
    console.print(make_fact_table({name: fact for name, fact in facts.items() if fact}))
    rows = [*explain_memories(explanation.memories), *map(explain_hit, explanation.hits)]
    if rows:
        console.print(make_table("source", "tier", "score", "text, and why", rows=rows))


def explain_memories(memories: Iterable[ExplainedMemory]) -> Iterator[Row]:
    """Yield each memory with its reason. The history of a key is shown once, with its first value."""
    shown_keys: set[tuple[str, str]] = set()
    for used in memories:
        key = (used.memory.kind, used.memory.key) if used.memory else (used.source, "")
        history = used.history if key not in shown_keys and len(used.history) > 1 else ()
        shown_keys.add(key)
        yield make_used_row(used, used.memory.text if used.memory else None, *map(describe_version, history))


def explain_hit(hit: ExplainedHit) -> Row:
    arms = ", ".join(f"{name} #{arm.rank} ({arm.score:.2f})" for name, arm in hit.arms.items()) or "none"
    return make_used_row(hit, hit.text, f"arms: {arms}; parts: {format_weights(hit.parts)}")


def make_used_row(used: ExplainedHit | ExplainedMemory, text: str | None, *details: str) -> Row:
    shown = "(forgotten since)" if text is None else shorten(text)
    lines = [make_text(each, "dim") for each in (used.why, *details)]
    text_and_why = Group(make_text(shown if used.packed else f"{shown} (not packed)"), *lines)
    return used.source, used.tier, f"{used.score:.2f}", text_and_why


def describe_version(memory: Memory) -> str:
    until = f"to {format_time(memory.valid_to)}" if memory.valid_to else "on"
    reason = f": {memory.reason}" if memory.reason else ""
    return f"from {format_time(memory.valid_from)} {until}, {shorten(memory.value)}{reason}"


def format_weights(weights: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.2f}" for name, value in weights.items() if f"{value:.2f}" != "0.00") or "none"
