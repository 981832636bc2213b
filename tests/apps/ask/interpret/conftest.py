"""The shop that interpretations are tested on."""

from __future__ import annotations

import pytest

from tests.apps.ask.interpret.interpret_shop import SCHEMA, Shop, open_shop


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    return open_shop(tmp_path_factory.mktemp("shop") / "shop.sqlite", SCHEMA)
