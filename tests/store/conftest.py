"""The store's tests are about one server: its plans, catalogs, migrations and faults. They use the embedded one, also
if RECOLLECT_TEST_CITUS names a cluster for the others."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.copied_database import copied


@pytest.fixture
def database(server: str, template: str) -> Iterator[str]:
    """The owner's DSN of this test's own database."""
    with copied(server, template) as dsn:
        yield dsn
