"""Model Context Protocol: the engine's verbs as tools for assistants, over stdio (server.py) and HTTP (mount.py).

No tool takes a user argument: the connection decides whose memory is used, so text that an assistant reads cannot name
another user. The SDK is an extra (`recollect[mcp]`): only server.py imports it at the top.
"""

from __future__ import annotations

from importlib.util import find_spec

from recollect.errors import RecollectError

SDK_MISSING = "the Model Context Protocol needs its SDK, which is not installed; run `pip install 'recollect[mcp]'`"


def is_sdk_installed() -> bool:
    return find_spec("mcp") is not None


def check_sdk() -> None:
    """Raise an error that names the missing extra."""
    if not is_sdk_installed():
        raise RecollectError(SDK_MISSING)
