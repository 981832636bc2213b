"""Results as people read them: tables, a tree, and dim lines for what stands beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from recollect.doors.cli.paper import said
from recollect.model.conversation import Turn
from recollect.model.explanation import ExplainedHit, Explanation
from recollect.model.receipt import Receipt
from recollect.model.search import Arm, Context, Hit, Recall

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table
    from rich.tree import Tree

WIDE = 110  # columns from which on a reason has a column of its own
LONGEST = 400  # characters of a turn in a table; --json and history have it whole


def table(*headings: str, title: str | None = None) -> Table:
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, title=title and said(title), title_justify="left", pad_edge=False)
    for heading in headings:
        made.add_column(heading, overflow="fold")
    return made


def clock(at: datetime | None) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M}" if at else ""


def shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


def show_recall(console: Console, found: Recall) -> None:
    if found.hits:
        console.print(hits_table(found.hits, is_wide=console.width >= WIDE))
    else:
        console.print("Nothing was found.")
    show_asides(console, found)
    console.print(
        said(f"{len(found.hits)} of {found.found} found, by {found.path}, in the {found.scope_used}", "dim"),
        said(f"request {found.request_id}", "dim"),
        sep="\n",
    )


def hits_table(hits: Sequence[Hit], is_wide: bool) -> Table:
    """Where there is little room, the reason stands under the text."""
    from rich.console import Group

    rows = table("#", "source", "when (UTC)", "who", *(("text", "why") if is_wide else ("text, and why",)))
    for rank, hit in enumerate(hits, 1):
        turn = hit.turn
        last = (said(shortened(turn.text)), said(hit.why, "dim"))
        cells = last if is_wide else (Group(*last),)
        rows.add_row(str(rank), said(turn.ref), clock(turn.at), said(turn.speaker or turn.role), *cells)
    return rows


def show_asides(console: Console, found: Recall) -> None:
    """Why the search went further than the session, and what could not be done."""
    asides = [f"widened: {found.widened}"] if found.widened else []
    for aside in [*asides, *(f"note: {note}" for note in found.notes)]:
        console.print(said(aside, "yellow"))


def context_footer(packed: Context) -> list[str]:
    parts = [f"{packed.tokens} of {packed.recall.query.budget} tokens", f"{len(packed.lines)} lines"]
    if packed.left_out:
        parts.append(f"{len(packed.left_out)} left out")
    return [", ".join(parts), f"request {packed.request_id}"]


def show_history(console: Console, turns: Sequence[Turn]) -> None:
    rows = table("source", "when (UTC)", "who", "text")
    for turn in turns:
        rows.add_row(said(turn.ref), clock(turn.at), said(turn.speaker or turn.role), said(turn.text))
    console.print(rows)


def show_receipt(console: Console, receipt: Receipt) -> None:
    what = f"session {receipt.session} of {receipt.user}" if receipt.session else f"everything of {receipt.user}"
    console.print(said(f"Forgotten: {what}"))
    rows = table("table", "rows erased")
    for name, count in receipt.rows.items():
        rows.add_row(name, f"{count:,}")
    rows.add_section()
    rows.add_row("total", f"{receipt.total:,}")
    console.print(rows)


def explanation_tree(told: Explanation) -> Tree:
    from rich.tree import Tree

    tree = Tree(said(f"{told.verb}: {told.query}", "bold"), guide_style="dim")
    scope = told.scope_used + (f" (widened: {told.widened})" if told.widened else "")
    facts = {
        "asked": f"{clock(told.created_at)} UTC" + (f", in session {told.session}" if told.session else ""),
        "looked": f"in the {scope}, by {told.path}, {told.latency_ms} ms",
        "found": f"{told.found}, used {told.used}" + packed_into(told),
        "words": weighed(told.terms),
    }
    for name, fact in facts.items():
        tree.add(said(f"{name:7}{fact}"))
    branch(tree, "hits", [explained_hit(rank, hit) for rank, hit in enumerate(told.hits, 1)])
    branch(tree, "left out", [said(f"{source}: {reason}") for source, reason in told.left_out])
    branch(tree, "notes", [said(note) for note in told.notes])
    return tree


def packed_into(told: Explanation) -> str:
    return f" in {told.tokens} of {told.budget} tokens" if told.verb == "context" else ""


def branch(tree: Tree, name: str, leaves: Iterable[RenderableType]) -> None:
    """A named branch, only if something hangs on it."""
    leaves = list(leaves)
    if leaves:
        grown = tree.add(said(name))
        for leaf in leaves:
            grown.add(leaf)


def explained_hit(rank: int, hit: ExplainedHit) -> RenderableType:
    from rich.console import Group

    text = "(forgotten since)" if hit.text is None else shortened(hit.text)
    unused = "" if hit.packed else ", not packed"
    return Group(
        said(f"{rank}. {hit.source} ({hit.tier}, score {hit.score:.2f}{unused})  {text}"),
        said(f"   {hit.why}", "dim"),
        said(f"   arms: {ranked(hit.arms)}; parts: {weighed(hit.parts)}", "dim"),
    )


def ranked(arms: Mapping[str, Arm]) -> str:
    return ", ".join(f"{name} #{arm.rank} ({arm.score:.2f})" for name, arm in arms.items()) or "none"


def weighed(parts: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.2f}" for name, value in parts.items() if f"{value:.2f}" != "0.00") or "none"
