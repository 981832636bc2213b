"""Every error Recollect raises, and what a person does about it.

    RecollectError
    ├── InvalidInput          a value a caller gave; names the field
    │   ├── StatementDenied   an SQL statement that the gate does not let through; names the offending part
    │   ├── TooLarge          an uploaded file has too many bytes
    │   └── UnsupportedFile   an uploaded file is of a kind that is not read; says which are
    ├── InvalidSetting        a value from the environment; names the setting
    ├── Unauthorized          we do not know who calls: no key or token, or one that is not good
    ├── Forbidden             we know, and that identity may not do this; says what role it takes
    ├── NotFound              no such thing in this scope (another's thing counts as none)
    ├── Conflict              the same idempotency key came with another body
    │   └── Outdated          what is known was changed by another meanwhile; repeat the request
    ├── RateLimited           too many requests by one caller; says when to come back
    ├── StoreUnavailable      PostgreSQL does not answer, or not in time
    │   └── EmbeddedServerFailed   our own server would not start; says why
    ├── SourceUnavailable     a data source of the SQL host cannot be opened or does not answer; says why
    ├── QueryFailed           a data source refused or broke off a statement; carries what it said
    ├── SchemaMismatch        the database is older or newer than this release, or lacks an extension
    ├── EmbedderFailed        the embedder did not answer; recall goes on without vectors
    └── ReasonerFailed        the language model did not answer; what it was to learn from can be tried again
        └── ReasonerConfused  it answered, but even asked twice not in the form it was asked for

A door turns `code` into its own status (HTTP, exit code); the message is for the person and says what to do next.
Driver errors are translated where they cross into our code (store/, providers/), nowhere else.
"""

from __future__ import annotations


class RecollectError(Exception):
    """Something went wrong that a person can act on."""

    code = "error"


class InvalidInput(RecollectError):
    """A value that a caller gave cannot be used."""

    code = "invalid_request"

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field


class StatementDenied(InvalidInput):
    """A statement is not run against the database; the message names the part to change."""

    def __init__(self, problem: str) -> None:
        super().__init__("sql", problem)


class TooLarge(InvalidInput):
    """An uploaded file has more bytes than are accepted; the message says how many are."""

    code = "too_large"


class UnsupportedFile(InvalidInput):
    """An uploaded file is of a kind that is not read; the message says what to save it as."""

    code = "unsupported_media_type"


class InvalidSetting(RecollectError):
    """A setting has a value that cannot be used."""

    code = "invalid_setting"

    def __init__(self, setting: str, problem: str) -> None:
        super().__init__(f"{setting}: {problem}")
        self.setting = setting


class Unauthorized(RecollectError):
    """The caller showed no key or token, or one that is not good; the message says what to send instead."""

    code = "unauthorized"


class Forbidden(RecollectError):
    """The caller is known but may not do this; the message says what role it takes."""

    code = "forbidden"


class NotFound(RecollectError):
    """There is no such thing in this scope."""

    code = "not_found"


class Conflict(RecollectError):
    """The request contradicts one that was already accepted."""

    code = "conflict"


class Outdated(Conflict):
    """What is known was changed by another meanwhile; repeat the request."""


class RateLimited(RecollectError):
    """Too many requests by one caller; `seconds` is how long to wait."""

    code = "rate_limited"

    def __init__(self, message: str, seconds: float) -> None:
        super().__init__(message)
        self.seconds = seconds


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
    """The database and this release do not fit; the message names the command that mends it."""

    code = "schema_mismatch"


class EmbedderFailed(RecollectError):
    """The embedder did not answer; recall goes on without vectors and catches up later."""

    code = "embedder_failed"


class ReasonerFailed(RecollectError):
    """The language model is away, too slow or refuses; the log is untouched and the work can be tried again later."""

    code = "reasoner_failed"


class ReasonerConfused(ReasonerFailed):
    """The language model answered, but not in the form it was asked for; a more capable model or a smaller piece of
    conversation helps more than trying again."""
