"""Every error Recollect raises, and what a person does about it.

Each interface maps `code` to its own status (HTTP, exit code); the message says what to do next.
Driver errors are translated where they cross into our code (store/, providers/), nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib.util import find_spec

# What interfaces call a field of the library, in the order in which the names are tried.
OTHER_NAMES: Mapping[str, Sequence[str]] = {
    "user": ("user_id", "userId"),
    "user_id": ("userId", "user"),
    "session": ("session_id", "sessionId"),
    "memory": ("memory_id",),
    "text": ("query", "question"),
    "query": ("question",),
    "value": ("text", "fact"),
    "kinds": ("kind",),
    "terms": ("term",),
    "definitions": ("define",),
    "documents": ("documentIds", "only"),
    "document": ("documents",),
    "top_k": ("top",),
    "sql": ("vql", "corrected_sql", "corrected"),
    "rows": ("vql_execute_rows_limit", "limit"),
    "upload": ("file", "files"),
    "parts": ("file", "files"),
    "ontology": ("source", "file"),
    "term.name": ("name", "term"),
    "term.description": ("description", "definition"),
    "term.synonyms": ("synonyms", "synonym", "aliases"),
    "term.sql": ("sql", "defining_sql"),
    "term": ("description", "definition"),
}


def describe_missing_extra(feature: str, extra: str, modules: Sequence[str] = ()) -> str:
    """Return the sentence for a feature whose extra, or these modules of it, are not installed."""
    missing = f" ({', '.join(modules)} not installed)" if modules else ""
    return f"{feature} requires the extra {extra}{missing}: run `pip install 'recollect[{extra}]'`"


class RecollectError(Exception):
    """An error that a person can act on."""

    code = "error"


class InvalidInput(RecollectError):
    """A value given by the caller cannot be used."""

    code = "invalid_request"

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem

    def as_written(self, names: Mapping[str, str]) -> InvalidInput:
        """Return the error, of the same kind, with the field as the caller wrote it. `names` has what the caller may
        give, each with how it is written: `limit` as `--limit`. Another field stays as it is."""
        error = type(self).__new__(type(self))
        # Kinds of errors have constructors of their own.
        InvalidInput.__init__(error, write_field(self.field, names), self.problem)
        return error


def write_field(field: str, names: Mapping[str, str]) -> str:
    """Return a field of the library as the caller wrote it: `turns[0].text` keeps its path where `turns` was given."""
    first, last = re.split(r"[.\[]", field)[0], field.rpartition(".")[2].partition("[")[0]
    of_value = OTHER_NAMES.get(field, ()) if "." in field else ()
    if first in names and not of_value:
        return names[first] + field.removeprefix(first)
    return next((names[name] for name in (*of_value, last, *OTHER_NAMES.get(last, ())) if name in names), field)


class StatementDenied(InvalidInput):
    """A statement is not run against the database; the message names the part to change."""

    def __init__(self, problem: str) -> None:
        super().__init__("sql", problem)


class TooLarge(InvalidInput):
    """An uploaded file has more bytes than allowed; the message says how many are."""

    code = "too_large"


class UnsupportedFile(InvalidInput):
    """An uploaded file is of a type that is not supported; the message says what to save it as."""

    code = "unsupported_media_type"


class InvalidSetting(RecollectError):
    """A setting has a value that cannot be used."""

    code = "invalid_setting"

    def __init__(self, setting: str, problem: str) -> None:
        super().__init__(f"{setting}: {problem}")
        self.setting = setting


class MissingExtra(RecollectError):
    """A feature needs packages that are not installed; the message names the extra to install."""

    code = "missing_extra"


class Unauthorized(RecollectError):
    """The caller sent no key or token, or an invalid one; the message says what to send instead."""

    code = "unauthorized"


class Forbidden(RecollectError):
    """The caller is known but may not do this; the message says which role may."""

    code = "forbidden"


class NotFound(RecollectError):
    """There is no such object in this scope."""

    code = "not_found"


class Conflict(RecollectError):
    """The request contradicts one that was already accepted."""

    code = "conflict"


class Outdated(Conflict):
    """The memories changed during the request; repeat it."""


class RateLimited(RecollectError):
    """The caller sent too many requests; `seconds` is how long to wait."""

    code = "rate_limited"

    def __init__(self, message: str, seconds: float) -> None:
        super().__init__(message)
        self.seconds = seconds


class QuotaExceeded(RecollectError):
    """A user or project may store no more; the message names the limit."""

    code = "quota_exceeded"


class StoreUnavailable(RecollectError):
    """PostgreSQL does not answer; the request can be repeated."""

    code = "unavailable"


class EmbeddedServerFailed(StoreUnavailable):
    """The embedded PostgreSQL could not be started; the message says why and what to do."""


class SourceUnavailable(RecollectError):
    """A data source cannot be opened or does not answer; the message says why, never with a password."""

    code = "unavailable"


class QueryFailed(RecollectError):
    """A data source refused a statement or broke it off; the message is the database's own, without secrets."""

    code = "query_failed"


class SchemaMismatch(RecollectError):
    """The database and this release do not fit; the message names the command that fixes it."""

    code = "schema_mismatch"


class EmbedderFailed(RecollectError):
    """The embedder did not answer; recall continues without vectors, which are added later."""

    code = "embedder_failed"


class ReasonerFailed(RecollectError):
    """The language model is down, too slow or refuses; the log is unchanged and the work can be retried."""

    code = "reasoner_failed"


class ReasonerConfused(ReasonerFailed):
    """The language model's answer does not have the requested form; a more capable model or a smaller piece of
    conversation helps more than a retry."""


class PromptTooLong(ReasonerConfused):
    """The model's context window is too small for what it was sent; send less."""


# The modules that are imported unconditionally. pyproject.toml has the versions.
MODULES = {
    "ask": ("sqlalchemy", "sqlglot"),
    "charts": ("vl_convert",),
    "cli": ("typer", "rich"),
    "server": ("fastapi", "uvicorn", "httptools", "jinja2", "prometheus_client", "pygments", "multipart"),
}


def require_extra(extra: str, feature: str) -> None:
    """Raise MissingExtra, which names the extra, if one of its modules is not installed."""
    missing = [module for module in MODULES[extra] if find_spec(module) is None]
    if missing:
        raise MissingExtra(describe_missing_extra(feature, extra, missing))
