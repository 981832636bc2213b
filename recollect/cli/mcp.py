"""`recollect mcp`: memory for assistants over the Model Context Protocol, through stdin and stdout."""

from __future__ import annotations

import asyncio

from recollect.cli.options import Project, Session, User, make_scope
from recollect.settings import read_settings


def mcp(user: User = None, project: Project = None, session: Session = None) -> None:
    """Serve memory to an assistant over the Model Context Protocol, through stdin and stdout. Clients start this
    command; the how-to shows their configuration. `recollect serve` offers the same over HTTP at /mcp."""
    from recollect.server.mcp import check_sdk

    check_sdk()
    from recollect.server.mcp.stdio import serve_stdio

    asyncio.run(serve_stdio(read_settings(), make_scope(user, session, project)))
