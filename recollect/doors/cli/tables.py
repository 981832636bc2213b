"""Results as people read them: tables, a tree, and dim lines for what stands beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from recollect.doors.cli.paper import said
from recollect.model.audit import Audit
from recollect.model.conversation import Turn
from recollect.model.episode import Episode
from recollect.model.explanation import ExplainedHit, ExplainedMemory, Explanation
from recollect.model.memory import Memory
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


def day(at: datetime | None) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d}" if at else ""


def shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


def show_recall(console: Console, found: Recall) -> None:
    is_wide = console.width >= WIDE
    if found.memories or found.episodes or found.resolved:
        console.print(known_table(found, is_wide))
    if found.hits:
        console.print(hits_table(found.hits, is_wide))
    else:
        console.print("No message was found." if found.memories else "Nothing was found.")
    show_asides(console, found)
    console.print(
        said(f"{len(found.hits)} of {found.found} found, by {found.path}, in the {found.scope_used}", "dim"),
        said(f"request {found.request_id}", "dim"),
        sep="\n",
    )


def hits_table(hits: Sequence[Hit], is_wide: bool) -> Table:
    rows = table("#", "source", "when (UTC)", "who", *reasoned_headings("text", is_wide))
    for rank, hit in enumerate(hits, 1):
        turn = hit.turn
        last = reasoned(turn.text, hit.why, is_wide)
        rows.add_row(str(rank), said(turn.ref), clock(turn.at), said(turn.speaker or turn.role), *last)
    return rows


def known_table(found: Recall, is_wide: bool) -> Table:
    """What is known about the question, beside what was said."""
    rows = table("what", "source", "whose", *reasoned_headings("known", is_wide))
    for resolved in found.resolved:
        meaning = f"{resolved.term}: {resolved.meaning}"
        rows.add_row("term", said(resolved.source or ""), resolved.tier, *reasoned(meaning, resolved.why, is_wide))
    for hit in found.memories:
        rows.add_row(hit.memory.kind, said(origin(hit.memory)), hit.tier, *reasoned(hit.text, hit.why, is_wide))
    for told in found.episodes:
        rows.add_row("episode", said(told.source), told.tier, *reasoned(told.text, told.why, is_wide))
    return rows


def reasoned_headings(name: str, is_wide: bool) -> tuple[str, ...]:
    return (name, "why") if is_wide else (f"{name}, and why",)


def reasoned(text: str, why: str, is_wide: bool) -> tuple[RenderableType, ...]:
    """Where there is little room, the reason stands under the text."""
    from rich.console import Group

    cells = (said(shortened(text)), said(why, "dim"))
    return cells if is_wide else (Group(*cells),)


def origin(memory: Memory) -> str:
    """The turns it rests on, or how it came without any."""
    return ", ".join(memory.refs) or memory.source


def show_memories(console: Console, known: Sequence[Memory]) -> None:
    if not known:
        console.print("Nothing is known.")
        return
    rows = table("id", "kind", "key", "value", "sure", "from", "to", "source")
    rows.columns[0].no_wrap = True  # it is there to be copied
    for memory in known:
        value = said(shortened(memory.value)) + said("" if memory.status == "active" else f" ({ended(memory)})", "dim")
        times = (day(memory.valid_from), day(memory.valid_to))
        sure = f"{memory.confidence:.2f}"
        rows.add_row(str(memory.id), memory.kind, said(memory.key), value, sure, *times, said(origin(memory)))
    console.print(rows)


def ended(memory: Memory) -> str:
    return f"{memory.status}: {memory.reason}" if memory.reason else memory.status


def show_episodes(console: Console, told: Sequence[Episode]) -> None:
    if not told:
        console.print("No session is long enough yet to be told in episodes.")
        return
    rows = table("source", "from (UTC)", "to", "in short")
    for episode in told:
        rows.add_row(said(episode.ref), clock(episode.said_from), clock(episode.said_to), said(episode.text))
    console.print(rows)


def show_audit(console: Console, trail: Sequence[Audit]) -> None:
    if not trail:
        console.print("Nothing was changed.")
        return
    rows = table("when (UTC)", "who", "did", "to", "detail")
    for deed in trail:
        detail = ", ".join(f"{name} {counts(value)}" for name, value in deed.detail.items())
        rows.add_row(clock(deed.at), said(deed.actor), deed.action, said(deed.subject), said(detail, "dim"))
    console.print(rows)


def counts(value: object) -> str:
    """Rows per table, without those that lost none."""
    if not isinstance(value, Mapping):
        return str(value)
    return "; ".join(f"{name} {count}" for name, count in value.items() if count)


def show_rejections(console: Console, counted: Mapping[str, int]) -> None:
    if not counted:
        console.print("Nothing was turned away.")
        return
    rows = table("turned away because", "times")
    for name, count in counted.items():
        rows.add_row(said(name), f"{count:,}")
    console.print(rows)


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


def show_receipt(console: Console, receipt: Receipt, deed: str = "Forgotten", heading: str = "rows erased") -> None:
    console.print(said(f"{deed}: {erased(receipt)}"))
    rows = table("table", heading)
    for name, count in receipt.rows.items():
        rows.add_row(name, f"{count:,}")
    rows.add_section()
    rows.add_row("total", f"{receipt.total:,}")
    console.print(rows)
    if receipt.rebuilt:
        console.print(f"Memories that also rest on something else, made anew from that: {receipt.rebuilt:,}")


def erased(receipt: Receipt) -> str:
    if receipt.memory:
        return f"memory {receipt.memory} of {receipt.user}"
    return f"session {receipt.session} of {receipt.user}" if receipt.session else f"everything of {receipt.user}"


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
    branch(tree, "known", explained_memories(told.memories))
    branch(tree, "episodes", [said(source) for source in told.episodes])
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


def explained_memories(memories: Iterable[ExplainedMemory]) -> list[RenderableType]:
    """The history of a key is told once, whichever of its values were used."""
    told: set[tuple[str, str]] = set()
    shown: list[RenderableType] = []
    for used in memories:
        about = (used.memory.kind, used.memory.key) if used.memory else (used.source, "")
        shown.append(explained_memory(used, () if about in told else used.history))
        told.add(about)
    return shown


def explained_memory(used: ExplainedMemory, history: Sequence[Memory]) -> RenderableType:
    """What it said, why it was there, and what was believed before and since."""
    from rich.console import Group

    text = shortened(used.memory.text) if used.memory else used.source
    unused = "" if used.packed else ", not packed"
    return Group(
        said(f"{text} ({used.tier}, score {used.score:.2f}{unused})"),
        said(f"   {used.why}", "dim"),
        *(said(f"   {believed(memory)}", "dim") for memory in history if len(history) > 1),
    )


def believed(memory: Memory) -> str:
    until = f"to {clock(memory.valid_to)}" if memory.valid_to else "on"
    reason = f": {memory.reason}" if memory.reason else ""
    return f"from {clock(memory.valid_from)} {until}, {shortened(memory.value)}{reason}"


def ranked(arms: Mapping[str, Arm]) -> str:
    return ", ".join(f"{name} #{arm.rank} ({arm.score:.2f})" for name, arm in arms.items()) or "none"


def weighed(parts: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.2f}" for name, value in parts.items() if f"{value:.2f}" != "0.00") or "none"
