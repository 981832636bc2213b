"""What an error becomes: a sentence that names the argument, for the assistant to mend it. Never a traceback."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from mcp import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST
from pydantic import ValidationError

from recollect.errors import InvalidInput, RecollectError

log = logging.getLogger("recollect.mcp")
FAILED = "something went wrong here; the server's log has it"
CODES: Mapping[str, int] = {
    "invalid_request": INVALID_PARAMS,
    "not_found": INVALID_PARAMS,
    "unauthorized": INVALID_REQUEST,
    "forbidden": INVALID_REQUEST,
}
WORDS = {"missing": "is needed", "extra_forbidden": "is no argument of this tool"}


def sentence(error: RecollectError, fields: Mapping[str, str]) -> str:
    """In the words of the tool: `query.limit: ...` is about its argument `limit`."""
    if not isinstance(error, InvalidInput):
        return str(error)
    place = error.field.rpartition(".")[2] if error.field.startswith(("query.", "lesson.")) else error.field
    return f"{fields.get(place, place)}: {str(error).removeprefix(f'{error.field}: ')}"


def misread(error: ValidationError) -> str:
    """The first problem, by the path of its argument."""
    first = error.errors(include_url=False)[0]
    place = "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in first["loc"]).lstrip(".")
    return f"{place}: {WORDS.get(first['type'], first['msg'])}"


def refused(error: RecollectError) -> MCPError:
    """For what is no tool: the protocol's own error."""
    return MCPError(CODES.get(error.code, INTERNAL_ERROR), str(error))


def failed(what: str, error: Exception) -> str:
    """What nobody foresaw: logged in full, told in a sentence."""
    log.error("%s failed", what, exc_info=error)
    return FAILED
