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
from typing import Any, get_type_hints

from recollect.errors import InvalidSetting
from recollect.setting_sources import ENVIRONMENT_ONLY, SettingText, find_settings


def setting(
    env: str, default: Any, meaning: str, low: float | None = None, high: float | None = None, *, secret: bool = False
) -> Any:
    """Return a field of Settings with what is needed to read, check and document it."""
    meta = {"env": env, "meaning": meaning, "low": low, "high": high, "secret": secret}
    return field(default=default, repr=not secret, metadata=meta)


class Unset(int):
    """A default that is narrower than the same number set explicitly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    home: str = setting("RECOLLECT_HOME", "", "folder of the embedded server; empty: the user's data folder")
    keep_server: bool = setting(
        "RECOLLECT_KEEP_SERVER", False, "leave the embedded server running when its last user leaves"
    )
    project: str = setting("RECOLLECT_PROJECT", "default", "project of commands and requests that name none")

    enabled: bool = setting("MEMORY_ENABLED", True, "use memory; 0: questions are answered as if no user were given")
    dsn: str = setting(
        "MEMORY_DB_CONNECTION_STRING",
        "",
        "PostgreSQL to use, as postgresql:// or postgresql+psycopg://; empty: the embedded server",
        secret=True,
    )
    admin_dsn: str = setting(
        "MEMORY_DB_ADMIN_CONNECTION_STRING",
        "",
        "the owner's connection for migrations, direct rather than through a pooler; empty: the same connection",
        secret=True,
    )
    read_dsn: str = setting(
        "MEMORY_DB_READ_CONNECTION_STRING",
        "",
        "a streaming standby of the same server for reads, used while it has everything that was written before;"
        " empty: all reads go to the primary",
        secret=True,
    )
    pooled: bool = setting(
        "MEMORY_DB_POOLED",
        False,
        "the connection goes through pgbouncer: use no prepared statements and no session settings",
    )
    pool_size: int = setting("MEMORY_DB_POOL_SIZE", 10, "connections for the usual load, opened as needed", 1, 1000)
    max_overflow: int = setting("MEMORY_DB_MAX_OVERFLOW", 20, "further connections under load", 0, 1000)
    pool_timeout: float = setting("MEMORY_DB_POOL_TIMEOUT", 30.0, "seconds to wait for a connection", 0.1, 3600)
    statement_timeout: float = setting("MEMORY_DB_STATEMENT_TIMEOUT", 30.0, "seconds one statement may take", 0.1, 3600)
    deadline: float = setting(
        "MEMORY_DB_DEADLINE",
        1.0,
        "seconds that a question to a database waits for memory before it continues without",
        0.05,
        3600,
    )
    echo: bool = setting("MEMORY_DB_ECHO", False, "log each named query as it runs")

    retention_days: int = setting(
        "MEMORY_RETENTION_DAYS",
        Unset(7),
        "days after its last message until a conversation about a database expires; if set, any conversation; 0: never",
        low=0,
        high=36_500,
    )
    cleanup_hours: int = setting(
        "MEMORY_CLEANUP_INTERVAL_HOURS", 24, "hours between two rounds of upkeep by a worker", 1, 8760
    )
    cleanup_batch: int = setting(
        "MEMORY_CLEANUP_BATCH_SIZE", 100, "conversations, memories or rows that upkeep takes at a time", 1, 10_000
    )
    request_days: int = setting(
        "RECOLLECT_REQUEST_DAYS", 30, "days for which requests can be explained and are counted in reports", 1, 36_500
    )
    idempotency_hours: int = setting(
        "RECOLLECT_IDEMPOTENCY_HOURS", 24, "hours for which a repeated idempotency key is recognised", 1, 8760
    )
    memory_limit: int = setting(
        "RECOLLECT_MEMORY_LIMIT", 200, "less important memories kept per user or project", 0, 1_000_000
    )
    user_turns: int = setting("RECOLLECT_USER_TURNS", 0, "messages that one user may store; 0: no limit", 0, 10**12)
    user_document_bytes: int = setting(
        "RECOLLECT_USER_DOCUMENT_BYTES", 0, "bytes of documents that one user may store; 0: no limit", 0, 10**15
    )
    project_turns: int = setting(
        "RECOLLECT_PROJECT_TURNS", 0, "messages that all users of a project may store together; 0: no limit", 0, 10**15
    )
    project_document_bytes: int = setting(
        "RECOLLECT_PROJECT_DOCUMENT_BYTES", 0, "bytes of documents that a project may store; 0: no limit", 0, 10**15
    )
    decay_days: int = setting(
        "RECOLLECT_DECAY_DAYS", 90, "idle days after which a user's memory loses confidence", 1, 36_500
    )
    project_decay_days: int = setting(
        "RECOLLECT_PROJECT_DECAY_DAYS", 180, "idle days after which a project's memory loses confidence", 1, 36_500
    )
    decay_step: float = setting(
        "RECOLLECT_DECAY_STEP", 0.1, "confidence lost per idle period; 0: memories do not decay", 0, 1
    )
    forget_below: float = setting(
        "RECOLLECT_FORGET_BELOW", 0.3, "confidence below which an idle memory is forgotten; 0: none is forgotten", 0, 1
    )
    forget_days: int = setting("RECOLLECT_FORGET_DAYS", 180, "idle days before a memory may be forgotten", 1, 36_500)
    history_days: int = setting(
        "RECOLLECT_HISTORY_DAYS", 3650, "days for which replaced and ended values are kept", 1, 36_500
    )
    workers: int = setting("RECOLLECT_WORKERS", 4, "conversations a worker processes at once", 1, 1000)
    session_window: int = setting(
        "MEMORY_SESSION_WINDOW_MINUTES",
        0,
        "minutes within which a request without a session continues the user's last conversation; 0: off",
        0,
        525_600,
    )
    history: int = setting("MEMORY_MAX_HISTORY_MESSAGES", 10, "last turns of the session in a context", 1, 50)
    similar: int = setting(
        "MEMORY_SEMANTIC_SEARCH_K", 3, "similar earlier questions returned with an answer; 0: none", 0, 10
    )
    similarity: float = setting(
        "MEMORY_SEMANTIC_SIMILARITY_THRESHOLD", 0.7, "cosine similarity from which a question counts as similar", 0, 1
    )
    context_tokens: int = setting("MEMORY_MAX_CONTEXT_TOKENS", 4000, "tokens of memory in a prompt", 1, 200_000)
    suggestions: bool = setting("MEMORY_ENABLE_SUGGESTIONS", True, "suggest further questions with an answer")
    suggestion_count: int = setting("MEMORY_SUGGESTION_COUNT", 3, "number of suggested questions", 0, 10)
    cross_user: bool = setting(
        "MEMORY_ENABLE_CROSS_USER_LEARNING",
        False,
        "propose a question to the project once three users have asked it, ignoring literals",
    )
    clarify_below: float = setting(
        "RECOLLECT_CLARIFY_BELOW",
        0.7,
        "confidence below which a question to a database is answered with a clarification",
        0,
        1,
    )
    source_folders: str = setting(
        "RECOLLECT_SOURCE_FOLDERS",
        "",
        "folders below which network callers may add SQLite, DuckDB, CSV and Parquet files, separated as in PATH;"
        " {project} in a name stands for the caller's project; empty: uploads/{project} in RECOLLECT_HOME",
    )
    source_hosts: str = setting(
        "RECOLLECT_SOURCE_HOSTS",
        "",
        "hosts of data sources that network callers may add, also private ones: names, *.domain, addresses and networks"
        " with commas; empty: every public address",
    )
    source_denied_hosts: str = setting(
        "RECOLLECT_SOURCE_DENIED_HOSTS", "", "hosts that no data source may be on, in the same form"
    )
    source_private_hosts: bool = setting(
        "RECOLLECT_SOURCE_PRIVATE_HOSTS",
        False,
        "network callers may add data sources on loopback and private addresses",
    )
    source_sockets: str = setting(
        "RECOLLECT_SOURCE_SOCKETS",
        "",
        "folders of PostgreSQL and MySQL sockets that network callers may use, separated as in PATH",
    )
    source_local: bool = setting(
        "RECOLLECT_SOURCE_LOCAL",
        True,
        "data sources added on the command line, or with local=True in Python, may be any file and host; 0: the same"
        " rules as for network callers",
    )
    source_environment: bool = setting(
        "RECOLLECT_SOURCE_ENVIRONMENT",
        False,
        "data sources added locally may use PG* variables, ~/.pgpass and service files",
    )
    source_same_server: bool = setting(
        "RECOLLECT_SOURCE_SAME_SERVER",
        False,
        "other databases of Recollect's own PostgreSQL server may be data sources; its own database never is",
    )
    custom_instructions: str = setting(
        "CUSTOM_INSTRUCTIONS",
        "",
        "instructions for the model with every question to a database, before the caller's own",
    )

    vector_store: str = setting("MEMORY_VECTOR_STORE", "pgvector", "pgvector; any other is refused")
    vector_collection: str = setting(
        "MEMORY_VECTOR_COLLECTION_NAME",
        "ai_sdk_conversation_memory",
        "accepted but not used: all vectors are in one table, separated by scope",
    )
    chroma_directory: str = setting(
        "MEMORY_CHROMA_PERSIST_DIRECTORY", "", "not supported: vectors are stored in PostgreSQL"
    )
    opensearch_url: str = setting("MEMORY_OPENSEARCH_URL", "", "not supported: vectors are stored in PostgreSQL")

    embedder: str = setting("RECOLLECT_EMBEDDER", "local", "local, openai (any compatible server) or none")
    embedder_url: str = setting(
        "RECOLLECT_EMBEDDER_URL", "", "base URL of the OpenAI-compatible server, e.g. http://localhost:8080/v1"
    )
    embedder_model: str = setting("RECOLLECT_EMBEDDER_MODEL", "", "model name at that server")
    embedder_key: str = setting("RECOLLECT_EMBEDDER_KEY", "", "API key of that server", secret=True)
    embedder_timeout: float = setting(
        "RECOLLECT_EMBEDDER_TIMEOUT", 10.0, "seconds per request to the embedder", 0.1, 600
    )
    embedding_batch: int = setting("MEMORY_EMBEDDING_BATCH_SIZE", 10, "texts per request to the embedder", 1, 2048)
    embed_turns: str = setting(
        "RECOLLECT_EMBED_TURNS", "auto", "which turns get vectors: all, high_value, none; auto: all if local"
    )

    mask_sensitive: bool = setting(
        "MEMORY_MASK_SENSITIVE_DATA",
        False,
        "mask e-mail addresses, phone numbers, cards, IBANs and national ids in stored text; logs are always masked",
    )
    allow_export: bool = setting("MEMORY_ALLOW_DATA_EXPORT", True, "users may export their data")
    allow_deletion: bool = setting("MEMORY_ALLOW_DATA_DELETION", True, "users may erase their data")
    log_operations: bool = setting(
        "MEMORY_LOG_OPERATIONS", True, "log each memory operation: who, what, how long; never content"
    )
    project_approval: bool = setting(
        "RECOLLECT_PROJECT_APPROVAL", False, "what users teach the project must be approved first"
    )
    summaries: bool = setting("MEMORY_SUMMARIZATION_ENABLED", True, "summarize the oldest turns of long conversations")
    episode_every: int = setting(
        "MEMORY_SUMMARIZATION_THRESHOLD", 20, "unsummarized messages after which a summary is written", 2, 1000
    )
    episode_window: int = setting(
        "RECOLLECT_EPISODE_WINDOW", 10, "last messages that are never summarized; less than the threshold", 0, 999
    )
    summary_every: int = setting(
        "RECOLLECT_SUMMARY_EVERY_N_TURNS",
        6,
        "answered document questions after which a session is summarized; 0: as other conversations",
        0,
        500,
    )
    summary_tokens: int = setting(
        "RECOLLECT_SUMMARY_TOKENS", 200, "tokens of a summary written without a model", 80, 4000
    )
    summary_answer_tokens: int = setting(
        "MEMORY_SUMMARIZATION_MAX_TOKENS", 500, "maximum tokens of a model's summary", 50, 100_000
    )
    summary_provider: str = setting(
        "MEMORY_SUMMARIZATION_PROVIDER", "OpenAI", "OpenAI, which means any compatible server; others are not supported"
    )
    summary_model: str = setting(
        "MEMORY_SUMMARIZATION_MODEL", "", "model for summaries, at RECOLLECT_MODEL_URL; empty: RECOLLECT_MODEL"
    )
    summary_temperature: float = setting(
        "MEMORY_SUMMARIZATION_TEMPERATURE", 0.3, "sampling temperature of summaries", 0, 2
    )
    async_storage: bool = setting(
        "MEMORY_ASYNC_STORAGE",
        True,
        "learn and index in the background; 0: requests wait for it. The log is always written at once",
    )

    redis_cache: bool = setting("MEMORY_REDIS_CACHE_ENABLED", False, "cache recent conversations in Redis")
    redis_url: str = setting("MEMORY_REDIS_URL", "redis://localhost:6379/0", "URL of that Redis server", secret=True)
    redis_ttl: int = setting(
        "MEMORY_REDIS_TTL_SECONDS", 3600, "seconds for which entries stay in the cache", 1, 31_536_000
    )

    model_url: str = setting(
        "RECOLLECT_MODEL_URL", "", "base URL of an OpenAI-compatible server with a language model; empty: rules only"
    )
    model: str = setting("RECOLLECT_MODEL", "", "name of the language model at that server")
    model_key: str = setting("RECOLLECT_MODEL_KEY", "", "API key of that server", secret=True)
    model_timeout: float = setting(
        "RECOLLECT_MODEL_TIMEOUT", 300.0, "seconds for a whole answer of the language model", 0.1, 3600
    )
    model_first_timeout: float = setting(
        "RECOLLECT_MODEL_FIRST_TIMEOUT",
        60.0,
        "seconds until a streamed answer of the language model begins, and between two parts of it",
        0.1,
        3600,
    )
    model_window: int = setting(
        "RECOLLECT_MODEL_WINDOW",
        0,
        "tokens of the language model's context window; 0: as the server says",
        0,
        10_000_000,
    )
    model_slots: int = setting(
        "RECOLLECT_MODEL_SLOTS",
        1,
        "requests that the model's server answers at once; learning waits while replies need them",
        1,
        1000,
    )

    model_samples: int = setting(
        "RECOLLECT_MODEL_SAMPLES",
        3,
        "statements that the model is asked for per question to a database, compared by result; 1: the cheap mode",
        low=1,
        high=9,
    )

    auth: str = setting(
        "RECOLLECT_AUTH", "auto", "auto: callers must authenticate once a key or JWT is set up; required: always"
    )
    user_source: str = setting(
        "MEMORY_USER_ID_SOURCE",
        "token",
        "where a service or admin key's request names the user: request (user_id), header (X-User-Id), token (either)",
    )
    jwt_secret: str = setting("RECOLLECT_JWT_SECRET", "", "secret of tokens signed with HS256, 384 or 512", secret=True)
    jwt_keys: str = setting(
        "RECOLLECT_JWT_KEYS", "", "public keys of tokens: a PEM or JWKS file, or the http(s) address of a JWKS"
    )
    jwt_algorithms: str = setting(
        "RECOLLECT_JWT_ALGORITHMS",
        "",
        "accepted algorithms, separated by commas; empty: HS256 and up, or RS256, ES256 and EdDSA",
    )
    jwt_issuer: str = setting("RECOLLECT_JWT_ISSUER", "", "required iss of a token; empty: any")
    jwt_audience: str = setting(
        "RECOLLECT_JWT_AUDIENCE", "", "required aud of a token; empty: the token must have none"
    )
    jwt_user_claim: str = setting("RECOLLECT_JWT_USER_CLAIM", "sub", "claim that names the user")
    jwt_project_claim: str = setting(
        "RECOLLECT_JWT_PROJECT_CLAIM", "", "claim that names the project; empty: the request may name any"
    )
    jwt_role_claim: str = setting("RECOLLECT_JWT_ROLE_CLAIM", "", "claim that names the role; empty: user")

    rate_limit: float = setting(
        "RECOLLECT_RATE_LIMIT", 100.0, "HTTP requests per second and caller; 0: no limit", 0, 1_000_000
    )
    max_requests: int = setting(
        "RECOLLECT_MAX_REQUESTS",
        500,
        "requests that a server process works on at once; more are refused with 429 until some are done; 0: no limit",
        0,
        1_000_000,
    )
    max_body: int = setting(
        "RECOLLECT_MAX_BODY_BYTES", 20_000_000, "maximum bytes of one HTTP request", 1000, 2_000_000_000
    )
    max_document: int = setting(
        "RECOLLECT_MAX_DOCUMENT", 20_000_000, "maximum bytes of an uploaded file", 1, 100_000_000
    )
    request_timeout: float = setting(
        "RECOLLECT_REQUEST_TIMEOUT", 60.0, "seconds until an HTTP request must be answered", 0.1, 3600
    )


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
