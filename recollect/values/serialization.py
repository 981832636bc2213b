"""Values as JSON objects: the fields of a dataclass, together with what it computes on demand.

`to_json` converts a value, `json_types` describes the result for OpenAPI. A value whose JSON object differs from its
fields has a row in `JSON_FIELDS`. `dataclasses.asdict` is not used: it copies every string, which cost more than the
rest of an HTTP request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from operator import attrgetter
from typing import Any, get_args, get_type_hints

from recollect.values.audit import ExplainedHit, ExplainedMemory, Receipt
from recollect.values.conversation import Conversation, Episode, Recorded, Turn
from recollect.values.identity import ApiKey, NewKey
from recollect.values.memory import Memory
from recollect.values.query import Context, EpisodeHit, Hit, Line, MemoryHit, Recall
from recollect.values.resolution import Resolution
from recollect.values.term import Term
from recollect.values.work import WorkStatus


def list_fields(kind: type, prefix: str = "") -> dict[str, str]:
    """Return the name of each public field with its attribute path, optionally of a value at `prefix`."""
    return {field.name: prefix + field.name for field in fields(kind) if not field.metadata.get("internal")}


def list_properties(kind: type, *properties: str) -> dict[str, str]:
    """Return the given properties and all fields, each with its attribute path."""
    return {**{name: name for name in properties}, **list_fields(kind)}


RECALLED = {
    name: f"recall.{name}" for name in ("scope_used", "widened", "path", "notes", "memories", "episodes", "resolved")
}
# JSON name -> attribute path, for every value whose JSON object has more or other names than its fields.
JSON_FIELDS: Mapping[type, Mapping[str, str]] = {
    Turn: {"source": "ref", **list_fields(Turn)},
    Memory: list_properties(Memory, "ref", "text"),
    Episode: list_properties(Episode, "ref"),
    Term: list_properties(Term, "ref"),
    Receipt: list_properties(Receipt, "total"),
    Resolution: list_properties(Resolution, "is_resolved"),
    WorkStatus: list_properties(WorkStatus, "ok"),
    MemoryHit: list_properties(MemoryHit, "source", "why"),
    EpisodeHit: list_properties(EpisodeHit, "source", "why"),
    ExplainedHit: list_properties(ExplainedHit, "why"),
    ExplainedMemory: list_properties(ExplainedMemory, "why"),
    NewKey: {**list_fields(ApiKey, "key."), "secret": "secret"},
    Recorded: {**list_fields(Conversation, "conversation."), "refs": "refs", "replayed": "replayed"},
    Hit: {
        "rank": "rank",
        "source": "source",
        **list_fields(Turn, "turn."),
        **{name: name for name in ("tier", "score", "why", "words", "arms", "parts")},
    },
    Recall: {
        "request_id": "request_id",
        "question": "query.text",
        **{name: name for name in list_fields(Recall) if name not in ("request_id", "query")},
    },
    Line: {name: name for name in ("number", "section", "source", "tokens", "excerpt", "recent", "text")},
    Context: {
        "request_id": "request_id",
        "question": "recall.query.text",
        "budget": "recall.query.budget",
        **{name: name for name in ("text", "tokens", "truncated", "lines", "left_out")},
        **RECALLED,
    },
}


def to_json(value: Any) -> Any:
    """Return dataclasses as dicts, also inside lists and dicts; all other values are returned unchanged."""
    if is_dataclass(value):
        names, read, nested = plan_conversion(type(value))  # type: ignore[arg-type]
        converted = dict(zip(names, read(value), strict=True))
        for name in nested:
            converted[name] = to_json(converted[name])
        return converted
    if isinstance(value, Mapping):
        return {name: to_json(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(each) for each in value]
    return value


@cache
def plan_conversion(kind: type) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]], tuple[str, ...]]:
    """Return the JSON names, a function that reads their values, and the names that hold dataclasses themselves."""
    paths = JSON_FIELDS.get(kind) or list_fields(kind)
    read = attrgetter(*paths.values()) if len(paths) > 1 else lambda value: tuple(getattr(value, p) for p in paths)
    return tuple(paths), read, tuple(name for name, hint in json_types(kind).items() if has_dataclass(hint))


def json_types(kind: type) -> dict[str, Any]:
    """Return the type of each field of the JSON object that `to_json` makes of a dataclass."""
    return {name: find_type(kind, path) for name, path in (JSON_FIELDS.get(kind) or list_fields(kind)).items()}


def find_type(kind: Any, path: str) -> Any:
    for name in path.split("."):
        member = getattr(kind, name, None)
        kind = get_type_hints(member.fget)["return"] if isinstance(member, property) else get_type_hints(kind)[name]
    return kind


def has_dataclass(hint: Any) -> bool:
    return is_dataclass(hint) or any(has_dataclass(inner) for inner in get_args(hint))


def recorded_json(written: Sequence[Recorded]) -> dict[str, Any]:
    """Return one object for all sessions that were written to; `refs` are in the order of writing."""
    return {"refs": [ref for each in written for ref in each.refs], "sessions": [to_json(each) for each in written]}
