"""The glossary of a project, as text-to-SQL front ends know it: a term, what it means, the SQL that defines it, the
table it is about, and its other names. Each is a term of the ontology."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, Field
from starlette.responses import Response

from recollect.doors.http.bodies import NAME, Body
from recollect.doors.http.caller import Called, Key, does
from recollect.doors.http.refusals import REFUSALS
from recollect.doors.http.render import Json
from recollect.model.ontology import Term

router = APIRouter(prefix="/api/projects/{project}/glossary", tags=["projects"], responses=REFUSALS)
MOST = 1_000


class GlossaryBody(Body):
    term: str = Field(json_schema_extra=NAME, examples=["active customer"])
    definition: str = Field(default="", examples=["logged in within the last 30 days"])
    defining_sql: str | None = Field(default=None, examples=["last_login_at > NOW() - INTERVAL '30 days'"])
    base_table: str | None = Field(default=None, examples=["customers"])
    aliases: list[str] = Field(default_factory=list, examples=[["active client"]])


class GlossaryAnswer(BaseModel):
    term: str
    definition: str
    defining_sql: str | None
    base_table: str | None
    aliases: list[str]


class GlossaryListAnswer(BaseModel):
    glossary: list[GlossaryAnswer]


def entry(term: Term) -> dict[str, Any]:
    return {
        "term": term.name,
        "definition": term.description,
        "defining_sql": term.sql,
        "base_table": term.data.get("base_table"),
        "aliases": list(term.synonyms),
    }


@router.get("", response_model=GlossaryListAnswer, openapi_extra=does("terms"))
async def list_glossary(project: str, called: Called, search: str | None = None) -> Json:
    """The words that the project has defined, all or those that a search finds."""
    scope = called.scope("terms", None, None, project)
    found = await called.engine.terms(scope, search or None, kind="glossary", limit=MOST)
    return Json({"glossary": [entry(term) for term in found]})


@router.post("", status_code=201, response_model=GlossaryAnswer, openapi_extra=does("put_term"))
async def put_glossary(project: str, body: GlossaryBody, called: Called, key: Key = None) -> Response:
    """Define a word for the project, or change what it means."""
    scope = called.scope("put_term", None, None, project)
    data = {"base_table": body.base_table} if body.base_table else {}
    term = Term(body.term, "glossary", body.definition, tuple(body.aliases), body.defining_sql, data)

    async def work() -> object:
        return entry(await called.engine.put_term(scope, term))

    return await called.once(scope, key, ["glossary", body.model_dump()], work)


@router.delete("/{term}", status_code=204, response_class=Response, openapi_extra=does("drop_term"))
async def drop_glossary(project: str, term: str, called: Called, key: Key = None) -> Response:
    """Take a word out of the glossary."""
    scope = called.scope("drop_term", None, None, project)

    async def work() -> object:
        await called.engine.drop_term(scope, term, kind="glossary")
        return {}

    return await called.once(scope, key, ["drop glossary", term], work, status=204)
