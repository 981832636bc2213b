"""Settings as a page shows them: in groups, with what is in force, where it comes from, what it means and what it may
be. A secret is "set" or not; an address loses whoever is named in it. Pure: what was read is given."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import Field, dataclass, fields
from typing import Any

from recollect.model.data_source import masked_dsn
from recollect.settings import CHOICES, REFUSED, Reading, Settings

# A group begins at this field and goes on to the next: a new setting is with those it was written beside.
GROUPS = {
    "home": "This installation",
    "enabled": "Memory and its database",
    "retention_days": "What is kept, and for how long",
    "workers": "Work in the background",
    "session_window": "What an answer gets",
    "clarify_below": "Questions to databases",
    "vector_store": "Names that others' configurations have",
    "embedder": "Embedder",
    "mask_sensitive": "Privacy",
    "summaries": "Summaries",
    "redis_cache": "Cache",
    "model_url": "Language model",
    "auth": "Who may come in",
    "rate_limit": "Limits over HTTP",
}
NAMED = re.compile(r"://[^/@\s]*@")
QUERY = re.compile(r"\?\S*")
IN_FORCE = "given when it was started, or changed in its file since"


@dataclass(frozen=True, slots=True)
class Row:
    """A setting. `place` says where it comes from: a file with its line, the environment, or the default."""

    variable: str
    field: str
    value: str
    default: str
    place: str
    meaning: str
    bounds: str
    is_changed: bool


def rows(in_force: Settings, reading: Reading) -> list[Row]:
    return [row_of(each, in_force, reading) for each in fields(Settings)]


def row_of(each: Field[Any], in_force: Settings, reading: Reading) -> Row:
    meta, value = each.metadata, getattr(in_force, each.name)
    is_changed = value != each.default
    return Row(
        variable=meta["env"],
        field=each.name,
        value=hidden(value, is_changed) if meta["secret"] else shown(value),
        default="not set" if meta["secret"] and not each.default else shown(each.default),
        place=place_of(each, value, reading),
        meaning=meta["meaning"],
        bounds=bounds(meta),
        is_changed=is_changed,
    )


def place_of(each: Field[Any], value: object, reading: Reading) -> str:
    """What was read now may not be what the process was started with."""
    found = reading.found.get(each.metadata["env"])
    if value != getattr(reading.settings, each.name):
        return IN_FORCE
    return "by default" if found is None else f"from {'the ' if found.file is None else ''}{found.place}"


def hidden(value: object, is_changed: bool) -> str:
    return "set" if value and is_changed else "as by default" if value else "not set"


def shown(value: object) -> str:
    """As it is written in the environment, without a password or a token that somebody put into an address."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float):
        return f"{value:g}"
    text = str(value)
    if "://" in text:
        text = QUERY.sub("?…", NAMED.sub("://***@", masked_dsn(text)))
    return text


def bounds(meta: Any) -> str:
    """What it may be, in words; empty where anything goes."""
    if meta["env"] in CHOICES:
        return "one of " + ", ".join(CHOICES[meta["env"]])
    if meta["env"] in REFUSED:
        return "only the default"
    if meta["low"] is not None and meta["high"] is not None:
        return f"{meta['low']:,} to {meta['high']:,}"
    return ""


def chosen(all_rows: Sequence[Row], words: str, only_changed: bool) -> list[Row]:
    """Those that have every word, in name or meaning."""
    wanted = words.lower().split()
    return [
        row
        for row in all_rows
        if all(word in f"{row.variable} {row.field} {row.meaning}".lower() for word in wanted)
        and (row.is_changed or not only_changed)
    ]


def grouped(found: Sequence[Row]) -> list[tuple[str, list[Row]]]:
    """By group, in the order in which they are written; groups with nothing in them are left out."""
    group, titles = "", {}
    for each in fields(Settings):
        group = GROUPS.get(each.name, group)
        titles[each.name] = group
    made: dict[str, list[Row]] = {}
    for row in found:
        made.setdefault(titles[row.field], []).append(row)
    return list(made.items())
