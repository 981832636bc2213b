"""The SDK: an extra. Where it is missing, one sentence says how to get it."""

from __future__ import annotations

from importlib.util import find_spec

from recollect.errors import RecollectError

MISSING = "the Model Context Protocol needs its SDK, which is not installed; `pip install 'recollect[mcp]'` brings it"


def is_installed() -> bool:
    return find_spec("mcp") is not None


def check_installed() -> None:
    if not is_installed():
        raise RecollectError(MISSING)
