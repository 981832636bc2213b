"""`recollect settings`: the value, origin and meaning of each setting, and warnings about unknown names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import Field, fields
from typing import Annotated, Any

import typer

from recollect.cli.options import Json
from recollect.cli.output import make_text, print_json, stderr_console, stdout_console
from recollect.cli.tables import make_table
from recollect.settings import Settings, SettingsTrace, trace_settings

MASK = "***"
Changed = Annotated[bool, typer.Option("--changed", help="Only settings that differ from their default.")]


def settings(changed: Changed = False, json: Json = False) -> None:
    """List each setting with its value, where the value comes from, and its meaning. Opens no database."""
    reading = trace_settings()
    rows = [describe_setting(field, reading) for field in fields(Settings)]
    rows = [row for row in rows if row["changed"] or not changed]
    if json:
        print_json({"settings": rows, "warnings": list(reading.warnings)})
    else:
        show_settings(rows, reading.warnings)


def describe_setting(field: Field[Any], reading: SettingsTrace) -> dict[str, Any]:
    value, found = getattr(reading.settings, field.name), reading.found.get(field.metadata["env"])
    is_changed = value != field.default
    return {
        "variable": field.metadata["env"],
        "field": field.name,
        "value": MASK if field.metadata["secret"] and is_changed else value,
        "default": field.default,
        "changed": is_changed,
        "source": "default" if found is None else "file" if found.file else "environment",
        "file": found.file if found else None,
        "line": found.line if found else None,
        "meaning": field.metadata["meaning"],
    }


def show_settings(rows: Sequence[dict[str, Any]], warnings: Sequence[str]) -> None:
    table = make_table("variable", "value", "from", "meaning")
    for row in rows:
        origin = row["source"]
        if origin == "file":
            origin = f"{row['file']}, line {row['line']}" if row["line"] else row["file"]
        value = make_text(format_value(row["value"]), "bold" if row["changed"] else "")
        table.add_row(row["variable"], value, origin, row["meaning"])
    if rows:
        stdout_console().print(table)
    else:
        typer.echo("All settings have their defaults.")
    for warning in warnings:
        stderr_console().print(make_text(f"warning: {warning}", "yellow"))


def format_value(value: object) -> str:
    """Return a value as it is written in the environment."""
    return str(int(value)) if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)
