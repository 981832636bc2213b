"""Checks that the database is safe to use: version, extensions, schema and access. They repair nothing."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

from recollect.admin.connection import connect_application, fetch_rows, open_connection
from recollect.bootstrap import find_server
from recollect.errors import SchemaMismatch
from recollect.settings import Settings
from recollect.store.connection import APP_ROLE
from recollect.store.database import queries
from recollect.store.migrate import (
    EXTENSIONS,
    OLDEST_SERVER,
    Difference,
    SchemaStatus,
    read_differences,
    read_facts,
    read_status,
)
from recollect.values.scope import Scope

MIGRATE = "run `recollect db migrate`"
MAX_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Check:
    """`detail` is the state that was found, or what to do about it."""

    name: str
    ok: bool
    detail: str


async def check(settings: Settings, scope: Scope | None = None) -> list[Check]:
    """Return all checks; with a scope, also whether its indexes have rows without a turn."""
    async with AsyncExitStack() as stack:
        owner_dsn, app_dsn, _ = await find_server(stack, settings)
        async with open_connection(owner_dsn) as owner:
            facts = await read_facts(owner)
            schema = await read_status(owner)
            tables = await fetch_rows(owner, "server.tables")
            differences = await read_differences(owner) if schema.applied and not schema.pending else []
        checks = [check_version(facts), check_extensions(facts), check_schema(schema), check_digests(schema)]
        if schema.applied and not schema.pending:
            checks.append(check_access("roles", differences, "recollect_app, recollect_operator"))
            if checks[-1].ok:  # a missing role cannot be used
                checks.append(await check_role(app_dsn, settings, tables))
            checks.append(check_access("row-level security", differences, f"forced on all {len(tables)} tables"))
            checks.append(check_access("policies", differences, "as released, for the present owner"))
            checks.append(check_access("grants", differences, "as released"))
        if schema.applied and scope:
            checks.append(await check_strays(app_dsn, settings, scope))
    return checks


async def refuse_unsafe(settings: Settings) -> None:
    """Raise SchemaMismatch, with what is wrong and what to do, unless every check passes."""
    failed = [f"{each.name}: {each.detail}" for each in await check(settings) if not each.ok]
    if failed:
        raise SchemaMismatch(f"the database failed its checks, so it is not served ({'; '.join(failed)})")


def check_version(facts: Any) -> Check:
    if facts.version < OLDEST_SERVER:
        return Check("server version", False, f"PostgreSQL {facts.version_text} is too old: use 16 or later")
    return Check("server version", True, f"PostgreSQL {facts.version_text}")


def check_extensions(facts: Any) -> Check:
    missing = [name for name in EXTENSIONS if name not in (facts.installed or ())]
    unavailable = [name for name in missing if name not in (facts.available or ())]
    if unavailable:
        return Check("extensions", False, f"the server does not have {' and '.join(unavailable)}: install it there")
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
        problem = f"migration {versions} was applied with different content: reinstall recollect, or restore a backup"
        return Check("migrations unchanged", False, problem)
    return Check("migrations unchanged", True, f"{len(schema.applied)} applied as released")


async def check_role(app_dsn: str, settings: Settings, tables: Sequence[Any]) -> Check:
    async with connect_application(app_dsn, settings) as application:
        [role] = await fetch_rows(application, "server.role")
    owned = [table.name for table in tables if table.owner == role.name]
    if role.bypasses or owned:
        why = "bypasses row-level security" if role.bypasses else f"owns {', '.join(owned)}"
        return Check("application role", False, f"{role.name} {why}: log in as a plain member of {APP_ROLE}")
    return Check("application role", True, f"{role.name}: no superuser, bypasses nothing, owns nothing")


def check_access(kind: str, differences: Sequence[Difference], detail: str) -> Check:
    """Compare roles, row-level security, policies or grants with access.sql; `detail` is shown if all are right."""
    repairable = [each.problem for each in differences if each.kind == kind and each.remedy]
    others = [each.problem for each in differences if each.kind == kind and not each.remedy]
    problems = [f"{join_problems(repairable)}: {MIGRATE}"] if repairable else []
    problems += [f"{join_problems(others)}: move or drop it"] if others else []
    return Check(kind, not problems, "; ".join(problems) or detail)


def join_problems(problems: Sequence[str]) -> str:
    """Return the first problems and the number of the others; after a restore there may be a hundred."""
    more = len(problems) - MAX_SHOWN
    return ", ".join(problems[:MAX_SHOWN]) + (f" and {more} more" if more > 0 else "")


async def check_strays(app_dsn: str, settings: Settings, scope: Scope) -> Check:
    async with connect_application(app_dsn, settings) as application, application.transaction():
        await application.execute(queries()["server.open_scope"], {"scope": scope.id})
        [(strays,)] = await fetch_rows(application, "server.strays", {"scope": scope.id})
    if strays:
        return Check("strays", False, f"{strays} index rows of {scope.user} have no turn: please report it")
    return Check("strays", True, f"every index row of {scope.user} has its turn")
