"""The page of the command line is made from the commands themselves.

`RECOLLECT_WRITE_DOCS=1 pytest tests/docs/test_cli_page.py` writes docs/reference/cli.md anew.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from typer.main import get_command

from recollect.cli.app import app

from .pages import ROOT

PAGE = ROOT / "docs" / "reference" / "cli.md"
MARKER = "<!-- commands -->"
COMMON = ("--session", "--user", "--project", "--json", "--yes")
PANELS = ("Remember", "Teach", "Explain, export and erase", "Operate")


def test_the_page_of_the_command_line_is_current() -> None:
    before = PAGE.read_text(encoding="utf-8")
    head, _, _ = before.partition(MARKER)
    current = f"{head}{MARKER}\n\n{commands_page()}"
    if os.environ.get("RECOLLECT_WRITE_DOCS"):
        PAGE.write_text(current, encoding="utf-8")
    else:
        assert before == current, "write it anew with RECOLLECT_WRITE_DOCS=1 pytest tests/docs"


def test_every_command_is_on_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [name for name, _, _ in commands() if f"### recollect {name}\n" not in text] == []


def commands_page() -> str:
    sections = [[f"## {panel}\n", *shown_in(panel)] for panel in PANELS]
    return "\n".join(text for section in sections for text in section)


def shown_in(panel: str) -> list[str]:
    return [shown(name, command) for name, command, where in commands() if where == panel]


def commands() -> Iterator[tuple[str, Any, str]]:
    """Each command with its whole name and where it stands."""
    root: Mapping[str, Any] = getattr(get_command(app), "commands")  # noqa: B009 - typed as a plain Command
    for name, command in root.items():
        if hasattr(command, "commands"):
            for inner, each in command.commands.items():
                yield f"{name} {inner}", each, command.rich_help_panel
            if command.callback and command.invoke_without_command:
                yield name, command, command.rich_help_panel
        else:
            yield name, command, command.rich_help_panel


def shown(name: str, command: Any) -> str:
    given = [each for each in command.params if not each.hidden]
    own = [each for each in given if not is_common(each)]
    common = [f"`{each.opts[0]}`" for each in given if is_common(each)]
    parts = [f"### recollect {name}\n", f"{' '.join((command.help or '').split())}\n"]
    if own:
        parts += ["| | | default |", "|---|---|---|", *map(row, own), ""]
    if common:
        parts += [f"{'And ' if own else ''}{', '.join(common)}.\n"]
    return "\n".join(parts)


def is_common(parameter: Any) -> bool:
    return parameter.opts[0] in COMMON


def row(parameter: Any) -> str:
    told = [named(parameter), parameter.help or "", default(parameter)]
    cells = [each.replace("|", "\\|") for each in told]
    return f"| {' | '.join(cells)} |"


def named(parameter: Any) -> str:
    if not parameter.opts[0].startswith("-"):
        return f"`{parameter.metavar or parameter.name.upper()}`"
    value = "" if parameter.is_flag else f" {parameter.metavar or parameter.name.upper()}"
    return ", ".join(f"`{opt}{value}`" for opt in (*parameter.opts, *parameter.secondary_opts))


def default(parameter: Any) -> str:
    if isinstance(parameter.show_default, str):
        return parameter.show_default
    if parameter.required:
        return "needed"
    plain = parameter.default is None or parameter.default is False or parameter.default in ("", [], ())
    return "" if plain or not parameter.show_default else f"`{parameter.default}`"
