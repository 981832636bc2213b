"""Administration for operators: the database (database.py), checks of it (check.py) and background work (work.py).
Commands and servers use this package instead of the store."""

from recollect.admin.check import Check, check, refuse_unsafe
from recollect.admin.database import (
    DatabaseStatus,
    Embedded,
    Migrated,
    Purged,
    backup,
    check_purge,
    database_status,
    distribute,
    migrate,
    purge,
    restore,
    stop,
)
from recollect.store.backup import Manifest

__all__ = [
    "Check",
    "DatabaseStatus",
    "Embedded",
    "Manifest",
    "Migrated",
    "Purged",
    "backup",
    "check",
    "check_purge",
    "database_status",
    "distribute",
    "migrate",
    "purge",
    "refuse_unsafe",
    "restore",
    "stop",
]
