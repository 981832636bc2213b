"""Admin: what an operator asks about the database, and what they have done to it. Doors come here; they never see store
or flows.

    status.py   which server, which schema; migrate; stop a server that was left running
    check.py    everything that must be so for the promises to hold
    cost.py     the benchmark, with an engine and an owner's connection
    asking.py   a connection whose errors are ours
"""

from recollect.admin.check import Check, check
from recollect.admin.cost import measure_cost
from recollect.admin.status import DatabaseStatus, Embedded, database_status, migrate, stop

__all__ = ["Check", "DatabaseStatus", "Embedded", "check", "database_status", "measure_cost", "migrate", "stop"]
