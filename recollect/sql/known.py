"""Known: what memory adds to one request: words that mean something here, standing filters, habits, the focus.

The host gathers it (session, then user, then project, then ontology; the first that knows a word wins) and hands it
to `read_question`. Whatever of it was used is told as an assumption, with who said so and how sure that is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from recollect.sql.semantic import Aggregate, Definition

TargetKind = Literal["entity", "dimension", "measure", "moment", "value", "definition", "join"]
SURE = 0.7  # below, it is asked about instead of used


@dataclass(frozen=True, slots=True)
class Target:
    """What a word stands for. Of a measure `expression` and `aggregate` count; of a join `via` is its name."""

    kind: TargetKind
    table: str
    column: str = ""
    value: str = ""
    expression: str = ""
    aggregate: Aggregate = "sum"
    name: str = ""
    via: str = ""
    source: str = ""  # session, user, project, ontology; empty for what the model itself says
    confidence: float = 1.0
    meaning: str = ""
    is_partial: bool = False  # only a part of its name was said


@dataclass(frozen=True, slots=True)
class DefaultFilter:
    """Goes with every query that touches the table, unless the question filters the column itself."""

    table: str
    column: str
    condition: str
    source: str = "user"
    confidence: float = 0.7


@dataclass(frozen=True, slots=True)
class Known:
    """`preferences`: "time_grain" -> "week", "aggregation:<measure>" -> "avg". `time_focus` is a period phrase."""

    synonyms: Mapping[str, Target] = field(default_factory=dict)
    definitions: tuple[Definition, ...] = ()
    default_filters: tuple[DefaultFilter, ...] = ()
    preferences: Mapping[str, str] = field(default_factory=dict)
    time_focus: str = ""
    time_source: str = "session"


@dataclass(frozen=True, slots=True)
class FoundValue:
    """A value that the host looked up, because the catalog does not show them all."""

    table: str
    column: str
    value: str
