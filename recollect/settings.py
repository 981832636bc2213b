"""Settings: one frozen value, read once at startup and passed down.

The class has the type and the default of each; settings.toml has its environment variable, meaning and bounds, which
the reader, the checks and the documentation use. Arguments win over the environment, which wins over a .env file, which
wins over a TOML file (setting_sources.py). A wrong value raises InvalidSetting with the variable and its place.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from functools import partial
from pkgutil import get_data
from typing import Any, TypeVar

from recollect.errors import InvalidSetting
from recollect.setting_sources import ENVIRONMENT_ONLY, SettingText, find_settings

T = TypeVar("T")


def describe_fields(kind: type[T]) -> type[T]:
    """Return the class with each field's row of settings.toml, and its group there, as the field's metadata."""
    table = tomllib.loads((get_data("recollect", "settings.toml") or b"").decode())
    for group, rows in table.items():
        for name, row in rows.items():
            low, high = row.get("range", (None, None))
            meta = {"group": group, "low": low, "high": high, "secret": False, **row}
            setattr(kind, name, field(default=getattr(kind, name), repr=not meta["secret"], metadata=meta))
    return kind


class Unset(int):
    """A default that is narrower than the same number set explicitly."""


@dataclass(frozen=True, slots=True, kw_only=True)
@describe_fields
class Settings:
    home: str = ""
    keep_server: bool = False
    project: str = "default"

    enabled: bool = True
    dsn: str = ""
    admin_dsn: str = ""
    read_dsn: str = ""
    pooled: bool = False
    pool_size: int = 10
    max_overflow: int = 20
    pool_timeout: float = 30.0
    statement_timeout: float = 30.0
    deadline: float = 1.0
    echo: bool = False

    retention_days: int = Unset(7)
    cleanup_hours: int = 24
    cleanup_batch: int = 100
    request_days: int = 30
    idempotency_hours: int = 24
    memory_limit: int = 200
    user_turns: int = 0
    user_document_bytes: int = 0
    project_turns: int = 0
    project_document_bytes: int = 0
    decay_days: int = 90
    project_decay_days: int = 180
    decay_step: float = 0.1
    forget_below: float = 0.3
    forget_days: int = 180
    history_days: int = 3650

    workers: int = 4

    session_window: int = 0
    history: int = 10
    similar: int = 3
    similarity: float = 0.7
    context_tokens: int = 4000
    suggestions: bool = True
    suggestion_count: int = 3
    cross_user: bool = False

    clarify_below: float = 0.7
    source_folders: str = ""
    source_hosts: str = ""
    source_denied_hosts: str = ""
    source_private_hosts: bool = False
    source_sockets: str = ""
    source_local: bool = True
    source_environment: bool = False
    source_same_server: bool = False
    custom_instructions: str = ""

    vector_store: str = "pgvector"
    vector_collection: str = "ai_sdk_conversation_memory"
    chroma_directory: str = ""
    opensearch_url: str = ""

    embedder: str = "local"
    embedder_url: str = ""
    embedder_model: str = ""
    embedder_key: str = ""
    embedder_timeout: float = 10.0
    embedding_batch: int = 10
    embed_turns: str = "auto"

    mask_sensitive: bool = False
    allow_export: bool = True
    allow_deletion: bool = True
    log_operations: bool = True
    project_approval: bool = False

    summaries: bool = True
    episode_every: int = 20
    episode_window: int = 10
    summary_every: int = 6
    summary_tokens: int = 200
    summary_answer_tokens: int = 500
    summary_provider: str = "OpenAI"
    summary_model: str = ""
    summary_temperature: float = 0.3
    async_storage: bool = True

    redis_cache: bool = False
    redis_url: str = "redis://localhost:6379/0"
    redis_ttl: int = 3600

    model_url: str = ""
    model: str = ""
    model_key: str = ""
    model_timeout: float = 300.0
    model_first_timeout: float = 60.0
    model_window: int = 0
    model_slots: int = 1
    model_samples: int = 3

    auth: str = "auto"
    user_source: str = "token"
    jwt_secret: str = ""
    jwt_keys: str = ""
    jwt_algorithms: str = ""
    jwt_issuer: str = ""
    jwt_audience: str = ""
    jwt_user_claim: str = "sub"
    jwt_project_claim: str = ""
    jwt_role_claim: str = ""

    rate_limit: float = 100.0
    max_requests: int = 500
    max_body: int = 20_000_000
    max_document: int = 20_000_000
    request_timeout: float = Unset(60)

    def __post_init__(self) -> None:
        for each in fields(self):
            _check(each, each.name, getattr(self, each.name))

    @property
    def answer_seconds(self) -> float:
        """Seconds that an HTTP request may take: with a language model as long as its answer, unless set explicitly."""
        may_wait = bool(self.model_url) and isinstance(self.request_timeout, Unset)
        return self.request_timeout + self.model_timeout * may_wait


@dataclass(frozen=True, slots=True)
class SettingsTrace:
    """Settings, the source of each value by variable (others have their default), and warnings."""

    settings: Settings
    found: Mapping[str, SettingText]
    warnings: Sequence[str]


def format_setting(value: object) -> str:
    """Return a value as it is written in the environment."""
    if isinstance(value, bool):
        return str(int(value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def read_settings(environ: Mapping[str, str] | None = None, **given: Any) -> Settings:
    """Return settings from the environment and the files of the working directory; `given` values win. With an
    `environ` argument, only files that it names are read."""
    return trace_settings(environ, **given).settings


def trace_settings(environ: Mapping[str, str] | None = None, **given: Any) -> SettingsTrace:
    """Return the settings with the source of each value."""
    by_variable = {f.metadata["env"]: f for f in fields(Settings)}
    variables = {f.name: env for env, f in by_variable.items()}
    findings = find_settings(environ, variables)
    found = {
        env: findings.values[env] for env, f in by_variable.items() if env in findings.values and f.name not in given
    }
    values = {by_variable[env].name: _read(by_variable[env], text) for env, text in found.items()}
    settings = Settings(**{**values, **given})
    return SettingsTrace(settings, found, [_describe_unknown(name, at, variables) for name, at in findings.unknown])


def _describe_unknown(name: str, at: SettingText, variables: Mapping[str, str]) -> str:
    from difflib import get_close_matches

    if name in ENVIRONMENT_ONLY:
        return f"{name} ({at.place}) counts in the environment only"
    # Variables without their prefix, which makes all of them alike.
    known = {env.partition("_")[2]: env for env in variables.values()} | {field: field for field in variables}
    near = get_close_matches(name.partition("_")[2] if name.isupper() else name, known, n=1)
    hint = f"; did you mean {known[near[0]]}?" if near else ""
    return f"{name} ({at.place}) is not a setting{hint}"


def _read(f: Field[Any], found: SettingText) -> Any:
    env, place = f.metadata["env"], f" ({found.place})" if found.file else ""
    try:
        value = _READERS[str(f.type)](found.text.strip())
    except ValueError as error:
        raise InvalidSetting(env, f"{error}; it means: {f.metadata['meaning']}{place}") from None
    _check(f, env, value, place)
    return value


def _read_bool(text: str) -> bool:
    if text.lower() in ("1", "true", "yes", "on"):
        return True
    if text.lower() in ("0", "false", "no", "off", ""):
        return False
    raise ValueError(f"{text!r} is neither 1 nor 0")


def _read_number(kind: type[int] | type[float], text: str) -> float:
    try:
        return kind(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a {'whole ' if kind is int else ''}number") from None


_READERS: dict[str, Callable[[str], Any]] = {
    "bool": _read_bool,
    "int": partial(_read_number, int),
    "float": partial(_read_number, float),
    "str": str,
}
_KINDS: dict[str, tuple[type, ...]] = {"bool": (bool,), "int": (int,), "float": (int, float), "str": (str, os.PathLike)}


def _check(f: Field[Any], name: str, value: Any, place: str = "") -> None:
    """Raise InvalidSetting, under the name and with the place that the value was given by, if it cannot be used."""
    if problem := _find_problem(f, value):
        raise InvalidSetting(name, f"{value!r} {problem}{place}")


def _find_problem(f: Field[Any], value: Any) -> str:
    meta, kind = f.metadata, str(f.type)
    if isinstance(value, bool) != (kind == "bool") or not isinstance(value, _KINDS[kind]):
        return f"is not a {kind}; it means: {meta['meaning']}"
    if meta["low"] is not None and not meta["low"] <= value <= meta["high"]:
        return f"is not between {meta['low']:,g} and {meta['high']:,g}"
    if value not in meta.get("choices", (value,)):
        return f"is not one of {', '.join(meta['choices'])}"
    if "refused" in meta and str(value).lower() != str(f.default).lower():
        return f"cannot be used: {meta['refused']}"
    return ""
