"""Recollect: long-term memory for chat and agent applications.

    async with recollect.connect() as memory:
        alex = Scope(user="alex", session="monday")
        await memory.record(alex, [("user", "Call our customers clients, please.")])
        print((await memory.context(alex, "how many clients signed up?")).text)

The public names: `connect` and `connect_sync`, the engines they return, the values that go in and out, and the
errors. They are listed in __init__.pyi; a module is imported when one of its names is first used.
"""

from __future__ import annotations

import re
from importlib import import_module
from pkgutil import get_data
from typing import Any

_LISTED = re.findall(rb"from (\S+) import (\w+)", get_data(__name__, "__init__.pyi") or b"")
_MODULE_OF = {name.decode(): module.decode() for module, name in _LISTED}
__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'recollect' has no attribute {name!r}")
    value = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value
