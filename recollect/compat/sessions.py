"""A session as those read it who keep a conversation here: langchain.py and llamaindex.py."""

from __future__ import annotations

from recollect.engine import Engine
from recollect.errors import NotFound
from recollect.model.conversation import Turn
from recollect.model.scope import Scope

PAGE = 1000


async def said(engine: Engine, scope: Scope, least: int | None = None) -> list[Turn]:
    """The turns of a session, oldest first: all, or of a long one its end, with no fewer than `least`. None, where
    there is no such session."""
    turns: list[Turn] = []
    page: list[Turn] = []
    while not turns or (len(page) == PAGE and (least is None or len(turns) < least)):
        try:
            page = await engine.history(scope, limit=PAGE, before=turns[0].index if turns else None)
        except NotFound:
            break
        turns = page + turns
    return turns
