"""Settings: one frozen value, read once at a door, passed down from there.

Every field names its environment variable, its meaning and its bounds, so that the reader, the checks and the
documentation are made from the same line. A wrong value is an `InvalidSetting` that names the variable.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, get_args, get_origin, get_type_hints

from recollect.errors import InvalidSetting


def setting(
    env: str, default: Any, meaning: str, *, low: float | None = None, high: float | None = None, secret: bool = False
) -> Any:
    """A field of Settings, with what is needed to read, check and explain it."""
    return field(default=default, metadata={"env": env, "meaning": meaning, "low": low, "high": high, "secret": secret})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    home: str = setting("RECOLLECT_HOME", "", "folder of the embedded server; empty: the user's data folder")
    keep_server: bool = setting(
        "RECOLLECT_KEEP_SERVER", False, "leave the embedded server running when its last user leaves"
    )
    project: str = setting("RECOLLECT_PROJECT", "default", "project of the command line's scope")

    dsn: str = setting(
        "MEMORY_DB_CONNECTION_STRING",
        "",
        "PostgreSQL to use, as postgresql:// or postgresql+psycopg://; empty: the embedded server",
        secret=True,
    )
    admin_dsn: str = setting(
        "MEMORY_DB_ADMIN_CONNECTION_STRING",
        "",
        "owner's connection for migrations, direct rather than through a pooler; empty: the same",
        secret=True,
    )
    pooled: bool = setting(
        "MEMORY_DB_POOLED", False, "the connection goes through pgbouncer: prepare nothing, set nothing per session"
    )
    pool_size: int = setting(
        "MEMORY_DB_POOL_SIZE", 10, "connections for the usual load, opened as needed", low=1, high=1000
    )
    max_overflow: int = setting("MEMORY_DB_MAX_OVERFLOW", 20, "further connections under load", low=0, high=1000)
    pool_timeout: float = setting(
        "MEMORY_DB_POOL_TIMEOUT", 30.0, "seconds to wait for a connection", low=0.1, high=3600
    )
    statement_timeout: float = setting(
        "MEMORY_DB_STATEMENT_TIMEOUT", 30.0, "seconds one statement may take", low=0.1, high=3600
    )
    echo: bool = setting("MEMORY_DB_ECHO", False, "log each named query as it runs")

    retention_days: int = setting(
        "MEMORY_RETENTION_DAYS",
        7,
        "days after its last message until a conversation expires; 0: never",
        low=0,
        high=36_500,
    )
    session_window: int = setting(
        "MEMORY_SESSION_WINDOW_MINUTES",
        0,
        "without a session id, go on with the user's last conversation if it is younger; 0: off",
        low=0,
        high=525_600,
    )
    history: int = setting("MEMORY_MAX_HISTORY_MESSAGES", 10, "recent turns in a context", low=1, high=50)

    embedder: str = setting("RECOLLECT_EMBEDDER", "local", "local, openai (any compatible server) or none")
    embedder_url: str = setting(
        "RECOLLECT_EMBEDDER_URL", "", "base URL of the OpenAI-compatible server, e.g. http://localhost:8080/v1"
    )
    embedder_model: str = setting("RECOLLECT_EMBEDDER_MODEL", "", "model name at that server")
    embedder_key: str = setting("RECOLLECT_EMBEDDER_KEY", "", "its API key", secret=True)
    embedder_timeout: float = setting("RECOLLECT_EMBEDDER_TIMEOUT", 10.0, "seconds per call", low=0.1, high=600)
    embedding_batch: int = setting("MEMORY_EMBEDDING_BATCH_SIZE", 10, "texts per call", low=1, high=2048)
    embed_turns: str = setting(
        "RECOLLECT_EMBED_TURNS", "auto", "which turns get vectors: all, high_value, none; auto: all if local"
    )


CHOICES = {
    "RECOLLECT_EMBEDDER": ("local", "openai", "none"),
    "RECOLLECT_EMBED_TURNS": ("auto", "all", "high_value", "none"),
}


def read_settings(environ: Mapping[str, str] | None = None, **given: Any) -> Settings:
    """Settings from the environment; what is `given` by name wins."""
    environ = os.environ if environ is None else environ
    hints = get_type_hints(Settings)
    values = {
        f.name: _read(f, hints[f.name], environ[f.metadata["env"]])
        for f in fields(Settings)
        if f.metadata["env"] in environ
    }
    settings = Settings(**{**values, **given})
    for f in fields(Settings):
        _check(f.metadata, hints[f.name], getattr(settings, f.name))
    return settings


def _read(f: Field[Any], kind: Any, text: str) -> Any:
    kind = get_args(kind)[0] if get_origin(kind) is not None else kind
    try:
        return _READERS[kind](text.strip())
    except ValueError as error:
        raise InvalidSetting(f.metadata["env"], f"{error}; it means: {f.metadata['meaning']}") from None


def _read_bool(text: str) -> bool:
    if text.lower() in ("1", "true", "yes", "on"):
        return True
    if text.lower() in ("0", "false", "no", "off", ""):
        return False
    raise ValueError(f"{text!r} is neither 1 nor 0")


def _read_int(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a whole number") from None


def _read_float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a number") from None


_READERS: dict[Any, Callable[[str], Any]] = {bool: _read_bool, int: _read_int, float: _read_float, str: str}


_KINDS: dict[Any, tuple[type, ...]] = {bool: (bool,), int: (int,), float: (int, float), str: (str, os.PathLike)}


def _check(meta: Mapping[str, Any], kind: Any, value: Any) -> None:
    env, low, high = meta["env"], meta["low"], meta["high"]
    if not isinstance(value, _KINDS[kind]) or (isinstance(value, bool) and kind is not bool):
        raise InvalidSetting(env, f"{value!r} is not a {kind.__name__}; it means: {meta['meaning']}")
    if low is not None and not value >= low:
        raise InvalidSetting(env, f"{value} is below {low:g}")
    if high is not None and not value <= high:
        raise InvalidSetting(env, f"{value} is above {high:g}")
    if env in CHOICES and value not in CHOICES[env]:
        raise InvalidSetting(env, f"{value!r} is not one of {', '.join(CHOICES[env])}")
