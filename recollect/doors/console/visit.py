"""A visit: one request to the console. Who looks, at whose memory, and what he may do there. Rooms get nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from starlette.datastructures import FormData
from starlette.requests import Request

from recollect.doors.http.caller import Caller
from recollect.engine import Engine
from recollect.errors import Forbidden, InvalidInput, RecollectError
from recollect.hosts.chat.assistant import Assistant
from recollect.hosts.documents.librarian import Librarian
from recollect.hosts.sql.analyst import Analyst
from recollect.model.identity import ACTS_FOR_OTHERS
from recollect.model.permissions import Action
from recollect.model.scope import Scope


@dataclass(frozen=True, slots=True)
class Place:
    """Whose memory is looked at; without a user only what the project shares."""

    project: str
    user: str


@dataclass(frozen=True, slots=True)
class Visit:
    """`cookie` ties this browser's forms to it; `token` is what they carry. `form` is what was sent, checked; None
    where a page is only looked at."""

    request: Request
    caller: Caller
    place: Place
    cookie: str = field(repr=False)
    token: str = field(repr=False)
    form: FormData | None = None

    @property
    def engine(self) -> Engine:
        return self.caller.engine

    @property
    def assistant(self) -> Assistant:
        held: Assistant = self.request.app.state.assistant
        return held

    @property
    def analyst(self) -> Analyst:
        held: Analyst = self.request.app.state.analyst
        return held

    @property
    def librarian(self) -> Librarian:
        held: Librarian = self.request.app.state.librarian
        return held

    @property
    def wants_piece(self) -> bool:
        """A script asks, and puts the answer into the page that is open."""
        return "x-piece" in self.request.headers

    def scope(self, action: Action, session: str | None = None) -> Scope:
        """Whose memory is meant, or Forbidden."""
        return self.caller.scope(action, self.place.user or None, session or None, self.place.project)

    def may(self, action: Action) -> bool:
        """For buttons: what is not allowed is not shown."""
        before = self.caller.state.get("operation")
        try:
            self.scope(action)
        except RecollectError:
            return False
        finally:
            self.caller.state["operation"] = before
        return True

    @property
    def chooses_user(self) -> bool:
        """Whether it is his to say whose memory is looked at."""
        return self.caller.identity.user is None and self.caller.identity.role in ACTS_FOR_OTHERS

    def may_see_all(self) -> bool:
        """Whether everything is open to whoever looks: the whole installation."""
        before = self.caller.state.get("operation")
        try:
            self.caller.check("work")
        except Forbidden:
            return False
        finally:
            self.caller.state["operation"] = before
        return True

    def asked(self, name: str, default: str = "") -> str:
        """From the address."""
        return self.request.query_params.get(name, default)

    def said(self, name: str, default: str | None = None) -> str:
        """From the form. A field without a default must be there."""
        value: Any = None if self.form is None else self.form.get(name, default)
        if not isinstance(value, str):
            raise InvalidInput(name, "is missing in the form; open the page again")
        return value.replace("\r\n", "\n")

    def ticked(self, name: str) -> bool:
        return self.said(name, "") != ""
