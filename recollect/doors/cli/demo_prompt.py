"""The prompt at the end of the tour: say something and it is kept, ask something and it is recalled."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from recollect.doors.cli.demo_story import DANA, TRYING
from recollect.doors.cli.paper import said
from recollect.doors.cli.tables import explanation_tree, show_history, show_memories, show_recall, show_receipt
from recollect.errors import RecollectError
from recollect.model.search import Query

if TYPE_CHECKING:
    from rich.console import Console

    from recollect.model.ids import RequestId
    from recollect.sync import SyncEngine

WELCOME = """
Your turn. Say something and it is remembered; end it with ? and it is recalled.
/why explains the last answer, /known shows what was learned, /history what you said, /forget erases the demo, /quit
leaves."""
HITS = 3


@dataclass(slots=True)
class Talk:
    """One person at the prompt."""

    console: Console
    engine: SyncEngine
    last: RequestId | None = None

    def hear(self, line: str) -> None:
        match line.split()[0].lower():
            case "/why":
                self.why()
            case "/known":
                show_memories(self.console, self.engine.memories(TRYING))
            case "/history":
                show_history(self.console, self.engine.history(TRYING))
            case "/forget":
                show_receipt(self.console, self.engine.forget(DANA))
                self.console.print("The sample comes back with the next `recollect demo`.", style="dim")
            case word if word.startswith("/"):
                self.console.print("There is /why, /known, /history, /forget and /quit.")
            case _ if line.endswith(("?", "?")):
                found = self.engine.recall(TRYING, Query(line, limit=HITS))
                self.last = found.request_id
                show_recall(self.console, found)
            case _:
                self.keep(line)

    def keep(self, line: str) -> None:
        [ref] = self.engine.record(TRYING, [("user", line)]).refs
        self.console.print(said(f"remembered as {ref}", "dim"))
        self.engine.settle(TRYING)
        for memory in self.engine.memories(TRYING):
            if ref in memory.refs:
                self.console.print(said(f"learned: {memory.text} ({memory.kind})", "dim"))

    def why(self) -> None:
        if self.last is None:
            self.console.print("Ask something first.")
        else:
            self.console.print(explanation_tree(self.engine.explain(TRYING, self.last)))


def talk(console: Console, engine: SyncEngine) -> None:
    """Until /quit, the end of the input, or Ctrl-C."""
    with contextlib.suppress(ImportError):
        # Its import alone gives input() a line one can edit.
        import readline  # noqa: F401
    console.print(WELCOME, markup=False)
    person = Talk(console, engine)
    while (line := asked(console)) is not None:
        if not line:
            continue
        try:
            person.hear(line)
        except RecollectError as error:
            console.print(said(str(error), "red"))


def asked(console: Console) -> str | None:
    try:
        line = input("\n> ").strip()
    except (EOFError, KeyboardInterrupt):
        console.print()
        return None
    return None if line.lower() in ("/quit", "/exit", "/q") else line
