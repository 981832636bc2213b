"""What the tests of the asking routes share: a real server with the sample database behind it, and a language model
that says what a test wrote down for it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx2

from recollect.apps.ask.answers.answer_fields import AnswerQuestionAnswer
from recollect.server.app import make_app
from recollect.server.http.text2sql import TEXT2SQL
from recollect.settings import Settings
from tests.apps.chat.chat_door import served
from tests.openai_server import Answer, Server

SOURCES = "/api/projects/default/datasources"
SALES = f"{SOURCES}/sales"
BY_REGION = "Show me total sales by region for 2024"


@dataclass(frozen=True)
class Door:
    """A client that speaks for john, unless it is told otherwise."""

    http: httpx2.Client
    app: Any

    def ask(self, question: str, user: str | None = "john", **more: Any) -> dict[str, Any]:
        """What /answerQuestion says, in the shape that the schema promises."""
        answer = self.http.post("/answerQuestion", json={"question": question, "user_id": user, **more})
        assert answer.status_code == 200, answer.text
        AnswerQuestionAnswer.model_validate(answer.json(), strict=False)
        return dict(answer.json())

    def sql(self, question: str, user: str = "john", context: object = None, **more: Any) -> dict[str, Any]:
        """What text2sql says; the rows are in `rows`."""
        headers = {} if context is None else {"X-Session-Context": json.dumps(context)}
        body = {"question": question, "user_id": user, "execute": True, **more}
        answer = self.http.post(f"{SALES}/text2sql", json=body, headers=headers)
        assert answer.status_code == 200, answer.text
        TEXT2SQL.model.model_validate(answer.json())
        told = dict(answer.json())
        return {**told, "rows": told["metadata"]["execution_result"].get("full", [])}

    def post(self, path: str, status: Any = 201, **body: Any) -> dict[str, Any]:
        answer = self.http.post(path, json=body)
        assert answer.status_code == status, answer.text
        return dict(answer.json())

    def closed(self) -> dict[str, dict[str, str]]:
        """Closes the door: headers of each role, and the admin's are this client's from now on. The user is john."""
        made = {"admin": self._key(role="admin", name="root")}
        self.http.headers.update(made["admin"])
        made["user"] = self._key(role="user", name="john", user="john")
        return made | {role: self._key(role=role, name=role) for role in ("service", "data")}

    def _key(self, **grant: Any) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.post('/v1/keys', **grant)['secret']}"}

    def figure(self, question: str, user: str = "john", **more: Any) -> Any:
        """The one value of an answer; None if it asks back."""
        rows = self.sql(question, user, **more)["rows"]
        return next(iter(rows[0].values())) if rows else None


@contextmanager
def asking_at(settings: Settings, sample: Path, **given: Any) -> Iterator[Door]:
    """A door where everybody is the local admin, with the sample database as `sales`."""
    app = make_app(replace(settings, rate_limit=0.0, **given), worker=False)
    with served(app) as url, httpx2.Client(base_url=url, timeout=60) as client:
        door = Door(client, app)
        door.post(SOURCES, name="sales", dsn=f"sqlite:///{sample}")
        yield door


# A language model ----------------------------------------------------------------------------------------------------

Said = dict[str, Any] | str | None  # None: it fails


@dataclass
class Script:
    """What a model says: for a question the statements it writes, one after the other, the last again and again; for
    rows a sentence. `asked` are the prompts it got for statements, each as one text."""

    writes: dict[str, list[Said]] = field(default_factory=dict)
    speaks: Said = "So it is.\n\nRelated questions:\n- And by month?"
    asked: list[str] = field(default_factory=list)

    def answer(self, body: dict[str, Any]) -> Answer:
        text = "\n".join(message["content"] for message in body["messages"])
        questions = re.findall(r"^Question: (.*)$", text, re.MULTILINE)
        if not questions:
            return reply(self.speaks)
        self.asked.append(text)
        lines = self.writes.get(questions[-1], [""])
        return reply(lines.pop(0) if len(lines) > 1 else lines[0])


def reply(said: Said) -> Answer:
    if said is None:
        return 500, "the model is tired"
    text = said if isinstance(said, str) else json.dumps(said)
    usage = {"prompt_tokens": 100, "completion_tokens": 10}
    return 200, json.dumps({"choices": [{"message": {"role": "assistant", "content": text}}], "usage": usage})


def scripted(model: Server, script: Script) -> dict[str, Any]:
    """The settings for a server that speaks by this script."""
    model.answer = script.answer
    return {"model_url": model.url, "model": "small", "model_timeout": 5.0}


def yearly(year: int) -> str:
    """Sales by region of a year, as a model writes it."""
    return (
        "SELECT r.name, SUM(s.amount) AS total FROM sales s JOIN regions r ON s.region_id = r.id"
        f" WHERE s.sale_date >= '{year}-01-01' AND s.sale_date < '{year + 1}-01-01' GROUP BY r.name"
    )


Doors = Callable[..., Door]
