"""Settings: one frozen value, read once at startup and passed down.

Each field declares its environment variable, meaning and bounds; the reader, the checks and the documentation use the
same line. Arguments win over the environment, which wins over a .env file, which wins over a TOML file
(setting_sources.py). A wrong value raises InvalidSetting with the variable and its place.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from functools import partial
from types import MappingProxyType
from typing import Any, TypeVar, get_type_hints

from recollect.errors import InvalidSetting
from recollect.setting_sources import ENVIRONMENT_ONLY, SettingText, find_settings

T = TypeVar("T")


def setting(
    default: Any,
    meaning: str,
    low: float | None = None,
    high: float | None = None,
    *,
    env: str = "",
    secret: bool = False,
) -> Any:
    """Return a field of Settings with what is needed to read, check and document it. Without `env` its variable is
    `RECOLLECT_` and its name."""
    meta = {"env": env, "meaning": meaning, "low": low, "high": high, "secret": secret}
    return field(default=default, repr=not secret, metadata=meta)


def name_variables(kind: type[T]) -> type[T]:
    """Return the class with a variable in the metadata of each field."""
    for name, each in vars(kind).items():
        if isinstance(each, Field):
            variable = each.metadata["env"] or f"RECOLLECT_{name.upper()}"
            each.metadata = MappingProxyType({**each.metadata, "env": variable})
    return kind


class Unset(int):
    """A default that is narrower than the same number set explicitly."""


@dataclass(frozen=True, slots=True, kw_only=True)
@name_variables
class Settings:
    home: str = setting("", "folder of the embedded server; empty: the user's data folder")
    keep_server: bool = setting(False, "leave the embedded server running when its last user leaves")
    project: str = setting("default", "project of commands and requests that name none")

    enabled: bool = setting(
        True, "use memory; 0: questions are answered as if no user were given", env="MEMORY_ENABLED"
    )
    dsn: str = setting(
        "",
        "PostgreSQL to use, as postgresql:// or postgresql+psycopg://; empty: the embedded server",
        env="MEMORY_DB_CONNECTION_STRING",
        secret=True,
    )
    admin_dsn: str = setting(
        "",
        "the owner's connection for migrations, direct rather than through a pooler; empty: the same connection",
        env="MEMORY_DB_ADMIN_CONNECTION_STRING",
        secret=True,
    )
    read_dsn: str = setting(
        "",
        "a streaming standby of the same server for reads, used while it has everything that was written before;"
        " empty: all reads go to the primary",
        env="MEMORY_DB_READ_CONNECTION_STRING",
        secret=True,
    )
    pooled: bool = setting(
        False,
        "the connection goes through pgbouncer: use no prepared statements and no session settings",
        env="MEMORY_DB_POOLED",
    )
    pool_size: int = setting(10, "connections for the usual load, opened as needed", 1, 1000, env="MEMORY_DB_POOL_SIZE")
    max_overflow: int = setting(20, "further connections under load", 0, 1000, env="MEMORY_DB_MAX_OVERFLOW")
    pool_timeout: float = setting(30.0, "seconds to wait for a connection", 0.1, 3600, env="MEMORY_DB_POOL_TIMEOUT")
    statement_timeout: float = setting(
        30.0, "seconds one statement may take", 0.1, 3600, env="MEMORY_DB_STATEMENT_TIMEOUT"
    )
    deadline: float = setting(
        1.0,
        "seconds that a question to a database waits for memory before it continues without",
        0.05,
        3600,
        env="MEMORY_DB_DEADLINE",
    )
    echo: bool = setting(False, "log each named query as it runs", env="MEMORY_DB_ECHO")

    retention_days: int = setting(
        Unset(7),
        "days after its last message until a conversation about a database expires; if set, any conversation; 0: never",
        0,
        36_500,
        env="MEMORY_RETENTION_DAYS",
    )
    cleanup_hours: int = setting(
        24, "hours between two rounds of upkeep by a worker", 1, 8760, env="MEMORY_CLEANUP_INTERVAL_HOURS"
    )
    cleanup_batch: int = setting(
        100, "conversations, memories or rows that upkeep takes at a time", 1, 10_000, env="MEMORY_CLEANUP_BATCH_SIZE"
    )
    request_days: int = setting(30, "days for which requests can be explained and are counted in reports", 1, 36_500)
    idempotency_hours: int = setting(24, "hours for which a repeated idempotency key is recognised", 1, 8760)
    memory_limit: int = setting(200, "less important memories kept per user or project", 0, 1_000_000)
    user_turns: int = setting(0, "messages that one user may store; 0: no limit", 0, 10**12)
    user_document_bytes: int = setting(0, "bytes of documents that one user may store; 0: no limit", 0, 10**15)
    project_turns: int = setting(0, "messages that all users of a project may store together; 0: no limit", 0, 10**15)
    project_document_bytes: int = setting(0, "bytes of documents that a project may store; 0: no limit", 0, 10**15)
    decay_days: int = setting(90, "idle days after which a user's memory loses confidence", 1, 36_500)
    project_decay_days: int = setting(180, "idle days after which a project's memory loses confidence", 1, 36_500)
    decay_step: float = setting(0.1, "confidence lost per idle period; 0: memories do not decay", 0, 1)
    forget_below: float = setting(0.3, "confidence below which an idle memory is forgotten; 0: none is forgotten", 0, 1)
    forget_days: int = setting(180, "idle days before a memory may be forgotten", 1, 36_500)
    history_days: int = setting(3650, "days for which replaced and ended values are kept", 1, 36_500)
    workers: int = setting(4, "conversations a worker processes at once", 1, 1000)
    session_window: int = setting(
        0,
        "minutes within which a request without a session continues the user's last conversation; 0: off",
        0,
        525_600,
        env="MEMORY_SESSION_WINDOW_MINUTES",
    )
    history: int = setting(10, "last turns of the session in a context", 1, 50, env="MEMORY_MAX_HISTORY_MESSAGES")
    similar: int = setting(
        3, "similar earlier questions returned with an answer; 0: none", 0, 10, env="MEMORY_SEMANTIC_SEARCH_K"
    )
    similarity: float = setting(
        0.7,
        "cosine similarity from which a question counts as similar",
        0,
        1,
        env="MEMORY_SEMANTIC_SIMILARITY_THRESHOLD",
    )
    context_tokens: int = setting(4000, "tokens of memory in a prompt", 1, 200_000, env="MEMORY_MAX_CONTEXT_TOKENS")
    suggestions: bool = setting(True, "suggest further questions with an answer", env="MEMORY_ENABLE_SUGGESTIONS")
    suggestion_count: int = setting(3, "number of suggested questions", 0, 10, env="MEMORY_SUGGESTION_COUNT")
    cross_user: bool = setting(
        False,
        "propose a question to the project once three users have asked it, ignoring literals",
        env="MEMORY_ENABLE_CROSS_USER_LEARNING",
    )
    clarify_below: float = setting(
        0.7, "confidence below which a question to a database is answered with a clarification", 0, 1
    )
    source_folders: str = setting(
        "",
        "folders below which network callers may add SQLite, DuckDB, CSV and Parquet files, separated as in PATH;"
        " {project} in a name stands for the caller's project; empty: uploads/{project} in RECOLLECT_HOME",
    )
    source_hosts: str = setting(
        "",
        "hosts of data sources that network callers may add, also private ones: names, *.domain, addresses and networks"
        " with commas; empty: every public address",
    )
    source_denied_hosts: str = setting("", "hosts that no data source may be on, in the same form")
    source_private_hosts: bool = setting(
        False, "network callers may add data sources on loopback and private addresses"
    )
    source_sockets: str = setting(
        "", "folders of PostgreSQL and MySQL sockets that network callers may use, separated as in PATH"
    )
    source_local: bool = setting(
        True,
        "data sources added on the command line, or with local=True in Python, may be any file and host; 0: the same"
        " rules as for network callers",
    )
    source_environment: bool = setting(
        False, "data sources added locally may use PG* variables, ~/.pgpass and service files"
    )
    source_same_server: bool = setting(
        False, "other databases of Recollect's own PostgreSQL server may be data sources; its own database never is"
    )
    custom_instructions: str = setting(
        "",
        "instructions for the model with every question to a database, before the caller's own",
        env="CUSTOM_INSTRUCTIONS",
    )

    vector_store: str = setting("pgvector", "pgvector; any other is refused", env="MEMORY_VECTOR_STORE")
    vector_collection: str = setting(
        "ai_sdk_conversation_memory",
        "accepted but not used: all vectors are in one table, separated by scope",
        env="MEMORY_VECTOR_COLLECTION_NAME",
    )
    chroma_directory: str = setting(
        "", "not supported: vectors are stored in PostgreSQL", env="MEMORY_CHROMA_PERSIST_DIRECTORY"
    )
    opensearch_url: str = setting("", "not supported: vectors are stored in PostgreSQL", env="MEMORY_OPENSEARCH_URL")

    embedder: str = setting("local", "local, openai (any compatible server) or none")
    embedder_url: str = setting("", "base URL of the OpenAI-compatible server, e.g. http://localhost:8080/v1")
    embedder_model: str = setting("", "model name at that server")
    embedder_key: str = setting("", "API key of that server", secret=True)
    embedder_timeout: float = setting(10.0, "seconds per request to the embedder", 0.1, 600)
    embedding_batch: int = setting(10, "texts per request to the embedder", 1, 2048, env="MEMORY_EMBEDDING_BATCH_SIZE")
    embed_turns: str = setting("auto", "which turns get vectors: all, high_value, none; auto: all if local")

    mask_sensitive: bool = setting(
        False,
        "mask e-mail addresses, phone numbers, cards, IBANs and national ids in stored text; logs are always masked",
        env="MEMORY_MASK_SENSITIVE_DATA",
    )
    allow_export: bool = setting(True, "users may export their data", env="MEMORY_ALLOW_DATA_EXPORT")
    allow_deletion: bool = setting(True, "users may erase their data", env="MEMORY_ALLOW_DATA_DELETION")
    log_operations: bool = setting(
        True, "log each memory operation: who, what, how long; never content", env="MEMORY_LOG_OPERATIONS"
    )
    project_approval: bool = setting(False, "what users teach the project must be approved first")
    summaries: bool = setting(
        True, "summarize the oldest turns of long conversations", env="MEMORY_SUMMARIZATION_ENABLED"
    )
    episode_every: int = setting(
        20, "unsummarized messages after which a summary is written", 2, 1000, env="MEMORY_SUMMARIZATION_THRESHOLD"
    )
    episode_window: int = setting(10, "last messages that are never summarized; less than the threshold", 0, 999)
    summary_every: int = setting(
        6,
        "answered document questions after which a session is summarized; 0: as other conversations",
        0,
        500,
        env="RECOLLECT_SUMMARY_EVERY_N_TURNS",
    )
    summary_tokens: int = setting(200, "tokens of a summary written without a model", 80, 4000)
    summary_answer_tokens: int = setting(
        500, "maximum tokens of a model's summary", 50, 100_000, env="MEMORY_SUMMARIZATION_MAX_TOKENS"
    )
    summary_provider: str = setting(
        "OpenAI",
        "OpenAI, which means any compatible server; others are not supported",
        env="MEMORY_SUMMARIZATION_PROVIDER",
    )
    summary_model: str = setting(
        "", "model for summaries, at RECOLLECT_MODEL_URL; empty: RECOLLECT_MODEL", env="MEMORY_SUMMARIZATION_MODEL"
    )
    summary_temperature: float = setting(
        0.3, "sampling temperature of summaries", 0, 2, env="MEMORY_SUMMARIZATION_TEMPERATURE"
    )
    async_storage: bool = setting(
        True,
        "learn and index in the background; 0: requests wait for it. The log is always written at once",
        env="MEMORY_ASYNC_STORAGE",
    )

    redis_cache: bool = setting(False, "cache recent conversations in Redis", env="MEMORY_REDIS_CACHE_ENABLED")
    redis_url: str = setting(
        "redis://localhost:6379/0", "URL of that Redis server", env="MEMORY_REDIS_URL", secret=True
    )
    redis_ttl: int = setting(
        3600, "seconds for which entries stay in the cache", 1, 31_536_000, env="MEMORY_REDIS_TTL_SECONDS"
    )

    model_url: str = setting("", "base URL of an OpenAI-compatible server with a language model; empty: rules only")
    model: str = setting("", "name of the language model at that server")
    model_key: str = setting("", "API key of that server", secret=True)
    model_timeout: float = setting(300.0, "seconds for a whole answer of the language model", 0.1, 3600)
    model_first_timeout: float = setting(
        60.0, "seconds until a streamed answer of the language model begins, and between two parts of it", 0.1, 3600
    )
    model_window: int = setting(
        0, "tokens of the language model's context window; 0: as the server says", 0, 10_000_000
    )
    model_slots: int = setting(
        1, "requests that the model's server answers at once; learning waits while replies need them", 1, 1000
    )

    model_samples: int = setting(
        3,
        "statements that the model is asked for per question to a database, compared by result; 1: the cheap mode",
        1,
        9,
    )

    auth: str = setting("auto", "auto: callers must authenticate once a key or JWT is set up; required: always")
    user_source: str = setting(
        "token",
        "where a service or admin key's request names the user: request (user_id), header (X-User-Id), token (either)",
        env="MEMORY_USER_ID_SOURCE",
    )
    jwt_secret: str = setting("", "secret of tokens signed with HS256, 384 or 512", secret=True)
    jwt_keys: str = setting("", "public keys of tokens: a PEM or JWKS file, or the http(s) address of a JWKS")
    jwt_algorithms: str = setting(
        "", "accepted algorithms, separated by commas; empty: HS256 and up, or RS256, ES256 and EdDSA"
    )
    jwt_issuer: str = setting("", "required iss of a token; empty: any")
    jwt_audience: str = setting("", "required aud of a token; empty: the token must have none")
    jwt_user_claim: str = setting("sub", "claim that names the user")
    jwt_project_claim: str = setting("", "claim that names the project; empty: the request may name any")
    jwt_role_claim: str = setting("", "claim that names the role; empty: user")

    rate_limit: float = setting(100.0, "HTTP requests per second and caller; 0: no limit", 0, 1_000_000)
    max_requests: int = setting(
        500,
        "requests that a server process works on at once; more are refused with 429 until some are done; 0: no limit",
        0,
        1_000_000,
    )
    max_body: int = setting(
        20_000_000, "maximum bytes of one HTTP request", 1000, 2_000_000_000, env="RECOLLECT_MAX_BODY_BYTES"
    )
    max_document: int = setting(20_000_000, "maximum bytes of an uploaded file", 1, 100_000_000)
    request_timeout: float = setting(60.0, "seconds until an HTTP request must be answered", 0.1, 3600)


CHOICES = {
    "RECOLLECT_EMBEDDER": ("local", "openai", "none"),
    "RECOLLECT_EMBED_TURNS": ("auto", "all", "high_value", "none"),
    "RECOLLECT_AUTH": ("auto", "required"),
    "MEMORY_USER_ID_SOURCE": ("token", "request", "header"),
}
# Settings of other products: the default is accepted, anything else is refused with the reason.
REFUSED = {
    "MEMORY_VECTOR_STORE": "vectors are stored in PostgreSQL, under the same row-level security; use pgvector",
    "MEMORY_CHROMA_PERSIST_DIRECTORY": "vectors are in PostgreSQL (pgvector), not in Chroma; remove this setting",
    "MEMORY_OPENSEARCH_URL": "vectors are in PostgreSQL (pgvector), not in OpenSearch; remove this setting",
    "MEMORY_SUMMARIZATION_PROVIDER": "only OpenAI's protocol is supported; name its server in RECOLLECT_MODEL_URL",
}


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
    hints = get_type_hints(Settings)
    by_variable = {f.metadata["env"]: f for f in fields(Settings)}
    variables = {f.name: env for env, f in by_variable.items()}
    findings = find_settings(environ, variables)
    found = {
        env: findings.values[env] for env, f in by_variable.items() if env in findings.values and f.name not in given
    }
    values = {by_variable[env].name: _read(by_variable[env], hints, text) for env, text in found.items()}
    settings = Settings(**{**values, **given})
    for env, f in by_variable.items():
        try:
            _check(f, hints[f.name], getattr(settings, f.name))
        except ValueError as error:
            raise InvalidSetting(env, f"{error}{_format_place(found.get(env))}") from None
    return SettingsTrace(settings, found, [_describe_unknown(name, at, variables) for name, at in findings.unknown])


def _format_place(at: SettingText | None) -> str:
    return f" ({at.place})" if at and at.file else ""


def _describe_unknown(name: str, at: SettingText, variables: Mapping[str, str]) -> str:
    from difflib import get_close_matches

    if name in ENVIRONMENT_ONLY:
        return f"{name} ({at.place}) counts in the environment only"
    # Variables without their prefix, which makes all of them alike.
    known = {env.partition("_")[2]: env for env in variables.values()} | {field: field for field in variables}
    near = get_close_matches(name.partition("_")[2] if name.isupper() else name, known, n=1)
    hint = f"; did you mean {known[near[0]]}?" if near else ""
    return f"{name} ({at.place}) is not a setting{hint}"


def _read(f: Field[Any], hints: Mapping[str, Any], found: SettingText) -> Any:
    try:
        return _READERS[hints[f.name]](found.text.strip())
    except ValueError as error:
        problem = f"{error}; it means: {f.metadata['meaning']}{_format_place(found)}"
        raise InvalidSetting(f.metadata["env"], problem) from None


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


_READERS: dict[Any, Callable[[str], Any]] = {
    bool: _read_bool,
    int: partial(_read_number, int),
    float: partial(_read_number, float),
    str: str,
}
_KINDS: dict[Any, tuple[type, ...]] = {bool: (bool,), int: (int,), float: (int, float), str: (str, os.PathLike)}


def _check(f: Field[Any], kind: Any, value: Any) -> None:
    env, low, high = f.metadata["env"], f.metadata["low"], f.metadata["high"]
    if not isinstance(value, _KINDS[kind]) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"{value!r} is not a {kind.__name__}; it means: {f.metadata['meaning']}")
    _check_bounds(value, low, high)
    if env in CHOICES and value not in CHOICES[env]:
        raise ValueError(f"{value!r} is not one of {', '.join(CHOICES[env])}")
    if env in REFUSED and str(value).lower() != str(f.default).lower():
        raise ValueError(f"{value!r} cannot be used: {REFUSED[env]}")


def _check_bounds(value: Any, low: float | None, high: float | None) -> None:
    if low is not None and not value >= low:
        raise ValueError(f"{value} is below {low:g}")
    if high is not None and not value <= high:
        raise ValueError(f"{value} is above {high:g}")
