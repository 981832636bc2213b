"""The data sources of a project: added, read again, shown, given another model or other rules of access, dropped. What
may be shown of an address is shown without its password."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from recollect.doors.http.answer_question import analyst_of
from recollect.doors.http.bodies import NAME, Body, chars
from recollect.doors.http.caller import Called, Caller, Key, does
from recollect.doors.http.refusals import REFUSALS
from recollect.doors.http.render import Json
from recollect.doors.http.repeats import Repeat
from recollect.engine import Engine
from recollect.errors import Forbidden
from recollect.hosts.sql.dsn import VARIABLE
from recollect.hosts.sql.library import Library, Shelf
from recollect.model.data_source import MAX_DSN, DataSource
from recollect.model.scope import Scope
from recollect.sql.semantic_file import model_data

router = APIRouter(prefix="/api/projects/{project}/datasources", tags=["data sources"], responses=REFUSALS)


class SourceBody(Body):
    name: str = Field(json_schema_extra=NAME, examples=["shop"])
    dsn: str = Field(
        json_schema_extra=chars(MAX_DSN),
        description="`${NAME}` in it is taken from the server's environment, so that no password need be kept.",
        examples=["postgresql://reader:${SHOP_PASSWORD}@db/shop"],
    )
    access: dict[str, Any] | None = Field(
        default=None,
        description="What each role may see; one that is not named sees everything.",
        examples=[{"user": {"tables": ["orders"], "rows": {"orders": "region = 'North'"}}}],
    )


class ModelBody(Body):
    model: dict[str, Any] | str = Field(
        description="The semantic model, as a mapping or as YAML.",
        examples=["tables:\n  customers:\n    names: [customer, client]\n"],
    )


class AccessBody(Body):
    access: dict[str, Any] = Field(
        description="What each role may see; one that is not named sees everything.",
        examples=[{"user": {"tables": ["orders"], "hidden": {"orders": ["note"]}}}],
    )


class SourceAnswer(BaseModel):
    name: str
    address: str | None
    dialect: str
    fingerprint: str
    created_at: datetime
    updated_at: datetime


class SourcesAnswer(BaseModel):
    datasources: list[SourceAnswer]


class ColumnAnswer(BaseModel):
    name: str
    type: str


class TableAnswer(BaseModel):
    name: str
    comment: str
    rows: int | None
    columns: list[ColumnAnswer]


class WholeSourceAnswer(SourceAnswer):
    tables: list[TableAnswer]
    model: dict[str, Any]
    access: dict[str, Any] | None


def source_shape(source: DataSource, called: Caller) -> dict[str, Any]:
    """Where it is, is for those who may change it."""
    return {
        "name": source.name,
        "address": source.masked_dsn if called.may("put_data_source") else None,
        "dialect": source.dialect,
        "fingerprint": source.fingerprint,
        "created_at": source.created_at,
        "updated_at": source.updated_at,
    }


def whole_shape(shelf: Shelf, called: Caller) -> dict[str, Any]:
    view = shelf.view(called.identity.role)
    tables = [
        {
            "name": t.name,
            "comment": t.comment,
            "rows": t.rows,
            "columns": [{"name": c.name, "type": c.type} for c in t.columns],
        }
        for t in view.catalog.tables
    ]
    access = dict(shelf.kept.access) if called.may("put_data_source") else None
    return source_shape(shelf.kept, called) | {"tables": tables, "model": model_data(view.model), "access": access}


def source_again(library: Library, called: Caller) -> Repeat:
    """A source as it is now: with the key only its name is kept."""

    async def told(kept: Mapping[str, Any], engine: Engine, scope: Scope) -> Mapping[str, Any]:
        return whole_shape(await library.find(scope, kept["name"]), called)

    return Repeat(lambda answer: {"name": answer["name"]}, told)


def check_environment(called: Caller, dsn: str) -> None:
    """What the server's environment holds is every project's: an address with one of its values in it could send that
    anywhere, and what is wrong with an address is told."""
    if VARIABLE.search(dsn):
        try:
            called.check("work")
        except Forbidden:
            told = "${...} takes a value from the server's environment; that is for an admin of all projects"
            raise Forbidden(told) from None


@router.post("", status_code=201, response_model=WholeSourceAnswer, openapi_extra=does("put_data_source"))
async def add_data_source(
    project: str, body: SourceBody, called: Called, request: Request, key: Key = None
) -> Response:
    """Add a database: it is opened, read, and a model of it is drafted."""
    scope, library = called.scope("put_data_source", None, None, project), analyst_of(request).library
    check_environment(called, body.dsn)

    async def work() -> object:
        return whole_shape(await library.add(scope, body.name, body.dsn, access=body.access), called)

    return await called.once(scope, key, ["add source", body.model_dump()], work, source_again(library, called))


@router.get("", response_model=SourcesAnswer, openapi_extra=does("data_sources"))
async def list_data_sources(project: str, called: Called) -> Json:
    """The databases that the project asks."""
    scope = called.scope("data_sources", None, None, project)
    found = await called.engine.data_sources(scope)
    return Json({"datasources": [source_shape(each, called) for each in found]})


@router.get("/{source}", response_model=WholeSourceAnswer, openapi_extra=does("data_sources"))
async def show_data_source(project: str, source: str, called: Called, request: Request) -> Json:
    """A database: its tables and its model, as far as the caller may see them."""
    scope = called.scope("data_sources", None, None, project)
    return Json(whole_shape(await analyst_of(request).library.find(scope, source), called))


@router.put("/{source}/model", response_model=WholeSourceAnswer, openapi_extra=does("put_data_source"))
async def put_model(
    project: str, source: str, body: ModelBody, called: Called, request: Request, key: Key = None
) -> Response:
    """Give a database another semantic model; what it names must be there."""
    scope, library = called.scope("put_data_source", None, None, project), analyst_of(request).library

    async def work() -> object:
        return whole_shape(await library.edit(scope, source, model=body.model), called)

    return await called.once(
        scope, key, ["model", source, body.model_dump()], work, source_again(library, called), status=200
    )


@router.put("/{source}/access", response_model=WholeSourceAnswer, openapi_extra=does("put_data_source"))
async def put_access(
    project: str, source: str, body: AccessBody, called: Called, request: Request, key: Key = None
) -> Response:
    """Say what each role may see of a database."""
    scope, library = called.scope("put_data_source", None, None, project), analyst_of(request).library

    async def work() -> object:
        return whole_shape(await library.edit(scope, source, access=body.access), called)

    return await called.once(
        scope, key, ["access", source, body.model_dump()], work, source_again(library, called), status=200
    )


@router.post("/{source}/refresh", response_model=WholeSourceAnswer, openapi_extra=does("put_data_source"))
async def refresh_data_source(project: str, source: str, called: Called, request: Request, key: Key = None) -> Response:
    """Read a database again. Approved queries of another shape no longer count."""
    scope, library = called.scope("put_data_source", None, None, project), analyst_of(request).library

    async def work() -> object:
        return whole_shape((await library.refresh(scope, source))[0], called)

    return await called.once(scope, key, ["refresh", source], work, source_again(library, called), status=200)


@router.delete("/{source}", status_code=204, response_class=Response, openapi_extra=does("put_data_source"))
async def drop_data_source(project: str, source: str, called: Called, request: Request, key: Key = None) -> Response:
    """Forget a database; nothing in it is touched."""
    scope, library = called.scope("put_data_source", None, None, project), analyst_of(request).library

    async def work() -> object:
        await library.drop(scope, source)
        return {}

    return await called.once(scope, key, ["drop source", source], work, status=204)
