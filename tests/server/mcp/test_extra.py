"""The SDK is an extra: without it, one sentence says how to get it, and everything else works."""

from __future__ import annotations

import sys

import httpx2
import pytest

from recollect.server.mcp import SDK_MISSING
from tests.cli.cli_program import Cli, run_program

from ..http.conftest import Serve
from ..http.loopback import refusal

WITHOUT = "import sys; sys.modules['mcp'] = None; "


@pytest.fixture
def no_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.server.mcp.find_spec", lambda name: None)


def test_the_sentence_names_the_extra() -> None:
    assert "pip install 'recollect[mcp]'" in SDK_MISSING


def test_recollect_mcp_says_what_is_missing(bare_cli: Cli, no_sdk: None) -> None:
    ran = bare_cli("mcp")
    assert (ran.code, ran.out, ran.err) == (1, "", f"recollect: {SDK_MISSING}\n")


def test_a_server_without_the_sdk_says_so_at_mcp_and_serves_the_rest(serve: Serve, no_sdk: None) -> None:
    url = serve().url
    assert refusal(httpx2.post(f"{url}/mcp", json={}, timeout=60))[:2] == (404, "not_found")
    assert SDK_MISSING in httpx2.post(f"{url}/mcp", json={}, timeout=60).json()["error"]["message"]
    assert httpx2.get(f"{url}/health", timeout=60).status_code == 200


def test_neither_the_commands_nor_the_application_need_the_sdk_to_be_loaded() -> None:
    made = "from recollect.settings import read_settings; from recollect.server.app import make_app; "
    script = f"{WITHOUT}import recollect.cli.app; {made}make_app(read_settings({{}})); print('made')"
    assert run_program(sys.executable, "-c", script).out == "made\n"
