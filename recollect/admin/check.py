"""Everything that must be so for the promises to hold, one check after the other. None of them mends anything."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

from recollect.admin.asking import as_application, asking, rows
from recollect.model.scope import Scope
from recollect.settings import Settings
from recollect.store.connection import APP_ROLE
from recollect.store.migrate import EXTENSIONS, OLDEST_SERVER, SchemaStatus, read_facts, read_status
from recollect.store.queries import queries
from recollect.wire import find_server

MIGRATE = "run `recollect db migrate`"


@dataclass(frozen=True, slots=True)
class Check:
    """`detail` says what is so, or what to do about it."""

    name: str
    ok: bool
    detail: str


async def check(settings: Settings, scope: Scope | None = None) -> list[Check]:
    """Everything that must be so for the promises to hold; with a scope, also whether its indexes have strays."""
    async with AsyncExitStack() as stack:
        owner_dsn, app_dsn, _ = await find_server(stack, settings)
        async with asking(owner_dsn) as owner:
            facts = await read_facts(owner)
            schema = await read_status(owner)
            tables = await rows(owner, "server.tables")
        checks = [check_version(facts), check_extensions(facts), check_schema(schema), check_digests(schema)]
        if schema.applied:
            checks += [await check_role(app_dsn, settings, tables), check_walls(tables), check_policies(tables)]
        if schema.applied and scope:
            checks.append(await check_strays(app_dsn, settings, scope))
    return checks


def check_version(facts: Any) -> Check:
    if facts.version < OLDEST_SERVER:
        return Check("server version", False, f"PostgreSQL {facts.version_text} is too old: use 16 or later")
    return Check("server version", True, f"PostgreSQL {facts.version_text}")


def check_extensions(facts: Any) -> Check:
    missing = [name for name in EXTENSIONS if name not in (facts.installed or ())]
    away = [name for name in missing if name not in (facts.available or ())]
    if away:
        return Check("extensions", False, f"the server does not have {' and '.join(away)}: install it there")
    if missing:
        return Check("extensions", False, f"{' and '.join(missing)} not yet in this database: {MIGRATE}")
    return Check("extensions", True, ", ".join(EXTENSIONS))


def check_schema(schema: SchemaStatus) -> Check:
    if schema.unknown:
        problem = f"migration {max(schema.unknown)} is from a newer release: `pip install --upgrade recollect`"
        return Check("schema", False, problem)
    if schema.pending:
        return Check("schema", False, f"{len(schema.pending)} migration(s) to apply: {MIGRATE}")
    return Check("schema", True, f"version {max(schema.applied, default=0)}")


def check_digests(schema: SchemaStatus) -> Check:
    if schema.changed:
        versions = ", ".join(map(str, schema.changed))
        problem = f"migration {versions} was applied with another content: reinstall recollect, or restore a backup"
        return Check("migrations unchanged", False, problem)
    return Check("migrations unchanged", True, f"{len(schema.applied)} applied as released")


async def check_role(app_dsn: str, settings: Settings, tables: Sequence[Any]) -> Check:
    async with asking(as_application(app_dsn, settings)) as application:
        [role] = await rows(application, "server.role")
    owned = [table.name for table in tables if table.owner == role.name]
    if role.bypasses or owned:
        why = "is above row-level security" if role.bypasses else f"owns {', '.join(owned)}"
        return Check("application role", False, f"{role.name} {why}: log in as a plain member of {APP_ROLE}")
    return Check("application role", True, f"{role.name}: no superuser, bypasses nothing, owns nothing")


def check_walls(tables: Sequence[Any]) -> Check:
    open_ones = [table.name for table in tables if not (table.enabled and table.forced)]
    if open_ones:
        remedy = "ALTER TABLE ... ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY"
        return Check("row-level security", False, f"not forced on {', '.join(open_ones)}: {remedy}")
    return Check("row-level security", True, f"forced on all {len(tables)} tables")


def check_policies(tables: Sequence[Any]) -> Check:
    bare = [table.name for table in tables if not table.policies]
    if bare:
        return Check("policies", False, f"none on {', '.join(bare)}: restore the one of its migration")
    return Check("policies", True, "every table has one")


async def check_strays(app_dsn: str, settings: Settings, scope: Scope) -> Check:
    async with asking(as_application(app_dsn, settings)) as application, application.transaction():
        await application.execute(queries()["server.open_scope"], {"scope": scope.id})
        [(strays,)] = await rows(application, "server.strays", {"scope": scope.id})
    if strays:
        return Check("strays", False, f"{strays} index rows of {scope.user} have lost their turn: please report it")
    return Check("strays", True, f"every index row of {scope.user} has its turn")
