"""Plain YAML: the part of YAML that says no more than JSON. Read by term_file.py, written for `ontology export`.

Keys of mappings are text; a value is text unless it looks like a JSON number, true, false or null, so that a country
code NO and a date stay what they are. Aliases, tags, repeated keys, a second document and deep nesting are refused:
nothing in the text can expand, or name a Python object. Parser events are read one by one, so that an error is raised
before the rest is parsed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from recollect.errors import InvalidInput

MAX_DEPTH = 20
# A part of what YAML 1.1 takes for a number, so that a text which is written without quotes is read as one.
NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+([eE][+-][0-9]+)?)?")
WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}


@dataclass(slots=True)
class OpenNode:
    """A mapping or list that is not closed yet; in a mapping, the key that waits for its value."""

    value: dict[str, Any] | list[Any]
    key: str | None = None

    @property
    def step(self) -> str:
        return f"[{len(self.value)}]" if isinstance(self.value, list) else f".{self.key}" if self.key else ""


@dataclass(slots=True)
class Builder:
    """Builds one document from the parser's events."""

    root: str
    open: list[OpenNode] = field(default_factory=list)
    documents: list[Any] = field(default_factory=list)

    def take(self, event: Any) -> None:
        if getattr(event, "tag", None) is not None and not is_own_tag(event):
            self.refuse(event, f"the tag {event.tag!r} is not read here")
        match type(event).__name__:
            case "DocumentStartEvent" if self.documents:
                self.refuse(event, "a second document begins; give one")
            case "AliasEvent":
                self.refuse(event, f"the alias *{event.anchor} is not read here; write it out")
            case "MappingStartEvent":
                self.enter(event, {})
            case "SequenceStartEvent":
                self.enter(event, [])
            case "MappingEndEvent" | "SequenceEndEvent":
                self.put(self.open.pop().value)
            case "ScalarEvent":
                self.put_scalar(event)

    def enter(self, event: Any, value: dict[str, Any] | list[Any]) -> None:
        if len(self.open) == MAX_DEPTH:
            self.refuse(event, f"nested more than {MAX_DEPTH} levels deep")
        if self.open and isinstance(self.open[-1].value, dict) and self.open[-1].key is None:
            self.refuse(event, "a mapping or list cannot be a key")
        self.open.append(OpenNode(value))

    def put_scalar(self, event: Any) -> None:
        inner = self.open[-1] if self.open else None
        if inner is not None and isinstance(inner.value, dict) and inner.key is None:
            if event.value in inner.value:
                self.refuse(event, f"{event.value!r} is given twice")
            inner.key = event.value
        else:
            self.put(event.value if event.style else parse_plain_value(event.value))

    def put(self, value: Any) -> None:
        if not self.open:
            self.documents.append(value)
            return
        inner = self.open[-1]
        if isinstance(inner.value, list):
            inner.value.append(value)
        elif inner.key is not None:
            inner.value[inner.key] = value
            inner.key = None

    def refuse(self, event: Any, problem: str) -> None:
        place = self.root + "".join(inner.step for inner in self.open)
        raise InvalidInput(place, f"{problem} (line {event.start_mark.line + 1})")


def read_yaml(field: str, text: str) -> Any:
    """Return the one document in the text. `field` is its name in error messages."""
    import yaml

    builder = Builder(field)
    try:
        build_documents(builder, yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    except yaml.YAMLError as error:
        raise InvalidInput(field, f"is not YAML: {summarize_error(error)}") from None
    return builder.documents[0] if builder.documents else None


def build_documents(builder: Builder, events: Iterable[Any]) -> None:
    for event in events:
        builder.take(event)


def is_own_tag(event: Any) -> bool:
    """Return whether the tag is `!` alone, which only marks a scalar as text."""
    return bool(event.tag == "!")


def parse_plain_value(text: str) -> Any:
    if text in WORDS:
        return WORDS[text]
    if found := NUMBER.fullmatch(text):
        return float(text) if found[2] else (int(text) if len(text) <= 18 else text)
    return text


def write_yaml(value: Mapping[str, Any]) -> str:
    """Return the text that `read_yaml` reads back."""
    import yaml

    class Writer(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
        def ignore_aliases(self, data: Any) -> bool:
            return True

    return str(yaml.dump(dict(value), Dumper=Writer, sort_keys=False, allow_unicode=True, width=100))


def summarize_error(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    return f"{problem} (line {mark.line + 1})" if mark else str(problem)
