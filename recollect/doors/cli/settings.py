"""`recollect settings`: what is set, by whom, and what each setting means; and names that look like a mistake."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import Field, fields
from typing import Annotated, Any

import typer

from recollect.doors.cli.options import Json
from recollect.doors.cli.paper import margin, paper, said, say_json
from recollect.doors.cli.tables import table
from recollect.settings import Reading, Settings, trace_settings

MASK = "***"
Changed = Annotated[bool, typer.Option("--changed", help="Only what differs from its default.")]


def settings(changed: Changed = False, json: Json = False) -> None:
    """Show each setting with its value, where that came from, and what it means. Opens no database."""
    reading = trace_settings()
    rows = [setting_shape(f, reading) for f in fields(Settings)]
    rows = [row for row in rows if row["changed"] or not changed]
    if json:
        say_json({"settings": rows, "warnings": list(reading.warnings)})
    else:
        show_settings(rows, reading.warnings)


def setting_shape(f: Field[Any], reading: Reading) -> dict[str, Any]:
    value, found = getattr(reading.settings, f.name), reading.found.get(f.metadata["env"])
    is_changed = value != f.default
    return {
        "variable": f.metadata["env"],
        "field": f.name,
        "value": MASK if f.metadata["secret"] and is_changed else value,
        "default": f.default,
        "changed": is_changed,
        "source": "default" if found is None else "file" if found.file else "environment",
        "file": found.file if found else None,
        "line": found.line if found else None,
        "meaning": f.metadata["meaning"],
    }


def show_settings(rows: Sequence[dict[str, Any]], warnings: Sequence[str]) -> None:
    shown = table("variable", "value", "from", "meaning")
    for row in rows:
        style = "bold" if row["changed"] else ""
        shown.add_row(row["variable"], said(value_text(row["value"]), style), said(source_text(row)), row["meaning"])
    if rows:
        paper().print(shown)
    else:
        typer.echo("Everything has its default.")
    for warning in warnings:
        margin().print(said(f"warning: {warning}", "yellow"))


def value_text(value: object) -> str:
    """As it is written in the environment."""
    return str(int(value)) if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)


def source_text(row: dict[str, Any]) -> str:
    if row["source"] != "file":
        return str(row["source"])
    return f"{row['file']}, line {row['line']}" if row["line"] else str(row["file"])
