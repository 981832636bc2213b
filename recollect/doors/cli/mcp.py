"""`recollect mcp`: memory for assistants that speak the Model Context Protocol, over stdin and stdout."""

from __future__ import annotations

import asyncio

from recollect.doors.cli.options import Project, Session, User, scope_of
from recollect.settings import read_settings


def mcp(user: User = None, project: Project = None, session: Session = None) -> None:
    """Serve memory to an assistant over the Model Context Protocol, through its pipes. A client starts this; see the
    how-to for its configuration. Over HTTP it is at /mcp of `recollect serve`."""
    from recollect.doors.mcp.sdk import check_installed

    check_installed()
    from recollect.doors.mcp.stdio import serve_stdio

    asyncio.run(serve_stdio(read_settings(), scope_of(user, session, project)))
