"""A rolling restart fails no request: each new process serves before an old one leaves."""

from __future__ import annotations

import pytest

from bench.restarts import measure_restart


@pytest.mark.timeout(300)
async def test_rolling_restart_fails_no_request() -> None:
    report = await measure_restart(sessions=12, clients=3)

    assert (report.failed, report.wrong_sessions) == ([], 0)
    assert report.replaced == 2
    assert report.acknowledged >= 24
