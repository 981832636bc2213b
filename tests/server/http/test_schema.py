"""The schema and the server are held to each other: requests made from the schema, some of each route, none of
which gets a 5xx or an answer that the schema does not have."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed
from hypothesis import settings as examples
from schemathesis import checks as schema_checks
from schemathesis.core.result import Ok

from recollect.apps.ask.sample import make_sample
from tests.bounds import bound

from .conftest import Serve
from .loopback import Keys, bearer
from .routes import routes, schema

TOTAL = bound(180, 2000)
SHARE = bound(3, 56)  # of each route; some have fewer to try
CHECKS = [
    schema_checks.not_a_server_error,
    schema_checks.status_code_conformance,
    schema_checks.content_type_conformance,
    schema_checks.response_headers_conformance,
    schema_checks.response_schema_conformance,
]


WHOSE = ("user", "user_id", "project", "every_project")  # left to the credentials: most of their values are refused


# The server is in this process: what its libraries draw by chance is no business of the strategies.
@pytest.mark.filterwarnings("ignore:Do not use the `random` module inside strategies")
@pytest.mark.long
@pytest.mark.timeout(600)
def test_no_request_made_from_the_schema_breaks_the_server_or_the_schema(
    serve: Serve, keys: Keys, tmp_path: Path
) -> None:
    server = serve(project="shop")
    headers = {**bearer(keys.every), "X-User-Id": "alex"}
    make_sample(tmp_path / "sample.db")
    source = {"name": "sales", "dsn": f"sqlite:///{tmp_path / 'sample.db'}"}
    described = schemathesis.openapi.from_url(f"{server.url}/openapi.json", timeout=60)
    done = Counter[int]()
    with httpx2.Client(base_url=server.url, headers=headers, timeout=60) as http, requests.Session() as session:
        known = http.post("/v1/learn", json={"value": "heron", "project": "shop"}).json()["id"]
        for result in described.get_all_operations():
            assert isinstance(result, Ok), result
            operation = result.ok()
            if "datasources" in operation.path or "answerQuestion" in operation.path:
                # Anew each time: some requests take it away.
                http.post("/api/projects/shop/datasources", json=source).raise_for_status()
            try_out(Client(session, headers, known, done), operation)
    assert done.total() >= TOTAL
    assert done[200] + done[201] + done[204] > TOTAL / 4, done


@dataclass(frozen=True)
class Client:
    session: requests.Session
    headers: dict[str, str]
    memory: str
    done: Counter[int]

    def ask(self, case: Any) -> None:
        """As generated, but for a user and a project that may be asked about, and things that may be there."""
        for place in (case.body, case.query):
            for name in WHOSE if isinstance(place, dict) else ():
                place.pop(name, None)
        case.path_parameters = {
            **case.path_parameters,
            **({"project": "shop"} if "project" in case.path_parameters else {}),
        }
        for name, there in (("memory", self.memory), ("source", "sales")):
            if name in case.path_parameters and self.done.total() % 2:
                case.path_parameters[name] = there
        if self.done.total() % 3:
            case.headers.pop("Idempotency-Key", None)  # most of those generated are the same
        answer = case.call(session=self.session, headers=self.headers)
        case.validate_response(answer, checks=CHECKS)
        self.done[answer.status_code] += 1


def try_out(client: Client, operation: Any) -> None:
    @seed(20)
    @examples(
        max_examples=SHARE,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy())
    def attempt(case: Any) -> None:
        client.ask(case)

    attempt()


def test_the_schema_is_complete() -> None:
    for path, operations in schema()["paths"].items():
        for method, told in operations.items():
            place = f"{method} {path}"
            assert told["description"], place
            assert told["operationId"].replace("_", "").isalpha(), place
            assert told["tags"], place
            assert "422" not in told["responses"], place
            if path not in ("/health", "/ready"):
                assert {"401", "403", "429", "503"} <= set(told["responses"]), place
                assert all(has_example(told["responses"][status]) for status in ("401", "403")), place
            if "requestBody" in told:
                assert body_example(schema(), told), f"{place} has no example"
    ids = [route.operation for route in routes()]
    assert {"record", "recall", "context", "resolve", "learn", "correct", "forget", "export", "explain"} <= set(ids)


def has_example(answer: dict[str, Any]) -> bool:
    return "error" in answer["content"]["application/json"]["example"]


def body_example(schema: dict[str, Any], told: dict[str, Any]) -> bool:
    """Whether every field that must be given has an example."""
    [sent] = (each["schema"] for each in told["requestBody"]["content"].values())
    shape = schema["components"]["schemas"][sent["$ref"].rpartition("/")[2]] if "$ref" in sent else sent
    return all(shape["properties"][field].get("examples") for field in shape.get("required", ()))
