"""The data sources of a project: add, list, show, refresh, change the semantic model or the access rules, delete. An
address is always shown without its password."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from recollect.apps.ask.semantic.model_file import dump_model
from recollect.apps.ask.source_registry import OpenSource
from recollect.server.access.caller import Call, Caller, check_environment_use
from recollect.server.access.idempotency import STORED, Replay, Stored
from recollect.server.http.bodies import NAME, Body, chars
from recollect.server.http.openapi import json_object, list_of
from recollect.server.http.routing import Routes
from recollect.values.data_source import MAX_DSN, DataSource

routes = Routes("/api/projects/{project}/datasources", "data sources")
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
    shown = {name: getattr(source, name) for name in SUMMARY if name != "address"}
    return shown | {"address": source.masked_dsn if caller.can("put_data_source") else None}


def describe_contents(shelf: OpenSource, call: Call) -> dict[str, Any]:
    """Return a data source with its tables and its semantic model, as far as the caller may see them."""
    view = shelf.view(call.role)
    tables = [
        {
            "name": table.name,
            "comment": table.comment,
            "rows": table.rows,
            "columns": [{"name": column.name, "type": column.type} for column in table.columns],
        }
        for table in view.catalog.tables
    ]
    access = dict(shelf.entry.access) if call.caller.can("put_data_source") else None
    described = describe_source(shelf.entry, call.caller)
    return described | {"tables": tables, "model": dump_model(view.model), "access": access}


async def restore_source(stored: Stored, call: Call, **_: Any) -> dict[str, Any]:
    return describe_contents(await call.analyst.sources.find(call.scope, stored["name"]), call)


SOURCE_REPLAY = Replay(lambda described: {"name": described["name"]}, restore_source)


@routes.add("POST /", "put_data_source", model=SOURCE, status=201, replay=SOURCE_REPLAY)
async def add_data_source(call: Call, body: SourceBody) -> dict[str, Any]:
    """Add a database: its schema is read, and a semantic model of it is drafted."""
    check_environment_use(call.caller, body.dsn)
    added = await call.analyst.sources.add(call.scope, body.name, body.dsn, access=body.access)
    return describe_contents(added, call)


@routes.add("GET /", "data_sources", model=SOURCES)
async def list_data_sources(call: Call) -> dict[str, Any]:
    """List the databases of the project."""
    found = await call.engine.sources.find(call.scope)
    return {"datasources": [describe_source(each, call.caller) for each in found]}


@routes.add("GET /{source}", "data_sources", model=SOURCE)
async def show_data_source(call: Call, source: str) -> dict[str, Any]:
    """Show a database: its tables and its semantic model, as far as the caller may see them."""
    return describe_contents(await call.analyst.sources.find(call.scope, source), call)


@routes.add("PUT /{source}/model", "put_data_source", model=SOURCE, replay=SOURCE_REPLAY)
async def put_model(call: Call, source: str, body: ModelBody) -> dict[str, Any]:
    """Replace the semantic model of a database; what it names must exist."""
    return describe_contents(await call.analyst.sources.edit(call.scope, source, model=body.model), call)


@routes.add("PUT /{source}/access", "put_data_source", model=SOURCE, replay=SOURCE_REPLAY)
async def put_access(call: Call, source: str, body: AccessBody) -> dict[str, Any]:
    """Set what each role may see of a database."""
    return describe_contents(await call.analyst.sources.edit(call.scope, source, access=body.access), call)


@routes.add("POST /{source}/refresh", "put_data_source", model=SOURCE, replay=SOURCE_REPLAY)
async def refresh_data_source(call: Call, source: str) -> dict[str, Any]:
    """Read the schema of a database again. Approved queries for another schema are no longer used."""
    shelf, _ = await call.analyst.sources.refresh(call.scope, source)
    return describe_contents(shelf, call)


@routes.add("DELETE /{source}", "put_data_source", status=204, replay=STORED)
async def drop_data_source(call: Call, source: str) -> dict[str, Any]:
    """Remove a database from the project; nothing in the database changes."""
    await call.analyst.sources.drop(call.scope, source)
    return {}
