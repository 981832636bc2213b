"""docs/reference/names.md leads from names that others use to ours: what it calls ours is there."""

from __future__ import annotations

import re
from dataclasses import fields

import recollect
from recollect.server.app import make_app
from recollect.settings import Settings, read_settings

from .pages import ROOT
from .test_cli_page import commands

PAGE = ROOT / "docs" / "reference" / "names.md"
SCHEMA = ROOT / "recollect" / "store" / "schema.sql"
TABLE = re.compile(r"^CREATE TABLE recollect\.(\w+) \((.*?)^\)", re.MULTILINE | re.DOTALL)


def ours() -> list[str]:
    """The middle column of every row."""
    rows = [line.split(" | ") for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    return [row[1] for row in rows if row[1] != "here"]


def quoted(pattern: str) -> set[str]:
    return {found for cell in ours() for found in re.findall(f"`({pattern})`", cell)}


def columns() -> dict[str, set[str]]:
    text = SCHEMA.read_text(encoding="utf-8")
    return {name: set(re.findall(r"^ +\"?(\w+)\"? ", body, re.MULTILINE)) for name, body in TABLE.findall(text)}


def test_every_table_and_column_is_there() -> None:
    told, there = {name for cell in ours() for name in re.findall(r"table `(\w+)`", cell)}, columns()
    assert told <= there.keys()
    named = [each.split(".") for each in quoted(r"[a-z_]+\.[a-z_]+")]
    assert [(table, column) for table, column in named if column not in there.get(table, ())] == []
    assert len(told) > 5
    assert len(named) > 10


def test_every_route_setting_and_command_is_there() -> None:
    paths = make_app(read_settings({})).openapi()["paths"]
    routes = {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}
    assert quoted(r"[A-Z]+ /[^`]*") - routes == set()
    settings = {field.metadata["env"] for field in fields(Settings)}
    assert quoted(r"(?:MEMORY|RECOLLECT)_[A-Z_]+") - settings == set()
    assert {each.removeprefix("recollect ") for each in quoted("recollect [a-z ]+")} <= {
        each for each, *_ in commands()
    }


def test_every_name_of_the_library_is_there() -> None:
    for each in quoted(r"[A-Z][a-z]\w*(?:\.\w+)?"):
        owner, _, member = each.partition(".")
        assert owner in recollect.__all__, each
        known = getattr(recollect, owner)
        assert not member or hasattr(known, member) or member in known.__annotations__, each
