"""The data sources of a project: add, list, show, refresh, change the semantic model or the access rules, delete. An
address is always shown without its password."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from fastapi import APIRouter, Request
from pydantic import Field

from recollect.apps.ask.semantic.model_file import dump_model
from recollect.apps.ask.source_registry import Shelf
from recollect.server.access.caller import Caller, CurrentCaller, check_environment_use
from recollect.server.access.idempotency import Replay, Stored
from recollect.server.access.route_rules import authorized, idempotent
from recollect.server.http.answer_question import get_analyst
from recollect.server.http.bodies import NAME, Body, chars
from recollect.server.http.openapi import ERRORS, json_object, list_of
from recollect.values.data_source import MAX_DSN, DataSource
from recollect.values.scope import Scope

router = APIRouter(prefix="/api/projects/{project}/datasources", tags=["data sources"], responses=ERRORS)
SUMMARY: dict[str, Any] = {
    "name": str,
    "address": str | None,
    "dialect": str,
    "fingerprint": str,
    "created_at": datetime,
    "updated_at": datetime,
}
COLUMN = json_object("SourceColumn", name=str, type=str)
TABLE = json_object("SourceTable", name=str, comment=str, rows=int | None, columns=list_of(COLUMN))
SOURCE = json_object(
    "DataSource",
    **SUMMARY,
    tables=list_of(TABLE),
    model=dict[str, Any],
    access=dict[str, Any] | None,
)
SOURCES = json_object("DataSources", datasources=list_of(json_object("DataSourceSummary", **SUMMARY)))
ACCESS = "What each role may see; a role that is not named sees everything."


class SourceBody(Body):
    name: str = Field(json_schema_extra=NAME, examples=["shop"])
    dsn: str = Field(
        json_schema_extra=chars(MAX_DSN),
        description="`${NAME}` is replaced from the server's environment, so that no password need be stored.",
        examples=["postgresql://reader:${SHOP_PASSWORD}@db/shop"],
    )
    access: dict[str, Any] | None = Field(
        default=None,
        description=ACCESS,
        examples=[{"user": {"tables": ["orders"], "rows": {"orders": "region = 'North'"}}}],
    )


class ModelBody(Body):
    model: dict[str, Any] | str = Field(
        description="The semantic model, as a mapping or as YAML.",
        examples=["tables:\n  customers:\n    names: [customer, client]\n"],
    )


class AccessBody(Body):
    access: dict[str, Any] = Field(
        description=ACCESS, examples=[{"user": {"tables": ["orders"], "hidden": {"orders": ["note"]}}}]
    )


def describe_source(source: DataSource, caller: Caller) -> dict[str, Any]:
    """Return the summary of a data source; its address is shown only to those who may change it."""
    return {
        "name": source.name,
        "address": source.masked_dsn if caller.can("put_data_source") else None,
        "dialect": source.dialect,
        "fingerprint": source.fingerprint,
        "created_at": source.created_at,
        "updated_at": source.updated_at,
    }


def describe_contents(shelf: Shelf, caller: Caller) -> dict[str, Any]:
    """Return a data source with its tables and its semantic model, as far as the caller may see them."""
    view = shelf.view(caller.identity.role)
    tables = [
        {
            "name": table.name,
            "comment": table.comment,
            "rows": table.rows,
            "columns": [{"name": column.name, "type": column.type} for column in table.columns],
        }
        for table in view.catalog.tables
    ]
    access = dict(shelf.kept.access) if caller.can("put_data_source") else None
    return describe_source(shelf.kept, caller) | {"tables": tables, "model": dump_model(view.model), "access": access}


async def restore_source(stored: Stored, *, caller: Caller, scope: Scope, request: Request, **_: Any) -> dict[str, Any]:
    return describe_contents(await get_analyst(request).library.find(scope, stored["name"]), caller)


SOURCE_REPLAY = Replay(lambda described: {"name": described["name"]}, restore_source)


@router.post("", status_code=201, response_model=SOURCE)
@authorized("put_data_source")
@idempotent(SOURCE_REPLAY)
async def add_data_source(
    project: str, body: SourceBody, caller: CurrentCaller, scope: Scope, request: Request
) -> dict[str, Any]:
    """Add a database: its schema is read, and a semantic model of it is drafted."""
    check_environment_use(caller, body.dsn)
    added = await get_analyst(request).library.add(scope, body.name, body.dsn, access=body.access)
    return describe_contents(added, caller)


@router.get("", response_model=SOURCES)
@authorized("data_sources")
async def list_data_sources(project: str, caller: CurrentCaller, scope: Scope) -> dict[str, Any]:
    """List the databases of the project."""
    found = await caller.engine.sources.find(scope)
    return {"datasources": [describe_source(each, caller) for each in found]}


@router.get("/{source}", response_model=SOURCE)
@authorized("data_sources")
async def show_data_source(
    project: str, source: str, caller: CurrentCaller, scope: Scope, request: Request
) -> dict[str, Any]:
    """Show a database: its tables and its semantic model, as far as the caller may see them."""
    return describe_contents(await get_analyst(request).library.find(scope, source), caller)


@router.put("/{source}/model", response_model=SOURCE)
@authorized("put_data_source")
@idempotent(SOURCE_REPLAY)
async def put_model(
    project: str, source: str, body: ModelBody, caller: CurrentCaller, scope: Scope, request: Request
) -> dict[str, Any]:
    """Replace the semantic model of a database; what it names must exist."""
    return describe_contents(await get_analyst(request).library.edit(scope, source, model=body.model), caller)


@router.put("/{source}/access", response_model=SOURCE)
@authorized("put_data_source")
@idempotent(SOURCE_REPLAY)
async def put_access(
    project: str, source: str, body: AccessBody, caller: CurrentCaller, scope: Scope, request: Request
) -> dict[str, Any]:
    """Set what each role may see of a database."""
    return describe_contents(await get_analyst(request).library.edit(scope, source, access=body.access), caller)


@router.post("/{source}/refresh", response_model=SOURCE)
@authorized("put_data_source")
@idempotent(SOURCE_REPLAY)
async def refresh_data_source(
    project: str, source: str, caller: CurrentCaller, scope: Scope, request: Request
) -> dict[str, Any]:
    """Read the schema of a database again. Approved queries for another schema are no longer used."""
    shelf, _ = await get_analyst(request).library.refresh(scope, source)
    return describe_contents(shelf, caller)


@router.delete("/{source}", status_code=204)
@authorized("put_data_source")
@idempotent()
async def drop_data_source(
    project: str, source: str, caller: CurrentCaller, scope: Scope, request: Request
) -> dict[str, Any]:
    """Remove a database from the project; nothing in the database changes."""
    await get_analyst(request).library.drop(scope, source)
    return {}
