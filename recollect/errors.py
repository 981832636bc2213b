"""Every error Recollect raises, and what a person does about it.

    RecollectError
    ├── InvalidInput          a value a caller gave; names the field
    ├── InvalidSetting        a value from the environment; names the setting
    ├── NotFound              no such thing in this scope (another's thing counts as none)
    ├── Conflict              the same idempotency key came with another body
    ├── StoreUnavailable      PostgreSQL does not answer, or not in time
    │   └── EmbeddedServerFailed   our own server would not start; says why
    ├── SchemaMismatch        the database is older or newer than this release, or lacks an extension
    └── EmbedderFailed        the embedder did not answer; recall goes on without vectors

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


class InvalidSetting(RecollectError):
    """A setting has a value that cannot be used."""

    code = "invalid_setting"

    def __init__(self, setting: str, problem: str) -> None:
        super().__init__(f"{setting}: {problem}")
        self.setting = setting


class NotFound(RecollectError):
    """There is no such thing in this scope."""

    code = "not_found"


class Conflict(RecollectError):
    """The request contradicts one that was already accepted."""

    code = "conflict"


class StoreUnavailable(RecollectError):
    """PostgreSQL does not answer; the request can be repeated."""

    code = "unavailable"


class EmbeddedServerFailed(StoreUnavailable):
    """The embedded PostgreSQL could not be started; the message says why and what to do."""


class SchemaMismatch(RecollectError):
    """The database and this release do not fit; the message names the command that mends it."""

    code = "schema_mismatch"


class EmbedderFailed(RecollectError):
    """The embedder did not answer; recall goes on without vectors and catches up later."""

    code = "embedder_failed"
