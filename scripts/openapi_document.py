"""Print the server's OpenAPI document without starting the server, for `make typescript`."""

from __future__ import annotations

import json
import sys
from typing import Any

from recollect.server.app import make_app
from recollect.settings import read_settings


def build_document() -> dict[str, Any]:
    return make_app(read_settings({})).openapi()


if __name__ == "__main__":
    json.dump(build_document(), sys.stdout)
