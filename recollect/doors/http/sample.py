"""The sample project: two users who ask a shop's database in words, and what the shop's ontology says. Loaded once:
a session that is there already is left as it is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from importlib.resources import files

from recollect.engine import Engine
from recollect.errors import NotFound
from recollect.model.conversation import Role, Turn
from recollect.model.scope import Scope

PROJECT = "sample"
STORY: dict[tuple[str, str], tuple[tuple[Role, str], ...]] = {
    ("dana", "monday"): (
        ("user", "Hi, my name is Dana and I work in sales."),
        ("assistant", "Welcome, Dana."),
        ("user", "Active means logged in within the last 30 days."),
        ("assistant", "Noted: active is a login within 30 days."),
        ("user", "Call our customers clients, please."),
        ("assistant", "Clients it is."),
        ("user", "Show me sales by region for 2024."),
        ("assistant", "Sales by region in 2024: North 4.1 M, West 3.2 M, South 2.7 M, East 1.9 M."),
        ("user", "What about 2023?"),
        ("assistant", "Sales by region in 2023: West 3.4 M, North 3.3 M, South 2.5 M, East 2.0 M."),
    ),
    ("dana", "wednesday"): (
        ("user", "Remind me to send the board slides on Thursday."),
        ("assistant", "I will."),
        ("user", "We decided to report revenue in euros."),
        ("assistant", "Euros from now on."),
        ("user", "Actually, we decided to report revenue in dollars instead of euros."),
        ("assistant", "Dollars, then."),
    ),
    ("lee", "tuesday"): (
        ("user", "我叫李雷，我住在北京。"),
        ("assistant", "你好，李雷。"),
        ("user", "以后请用中文回答。"),
        ("assistant", "好的。"),
        ("user", "其实我上个月搬到上海了。"),
        ("assistant", "知道了，上海。"),
    ),
}


async def load_sample(engine: Engine) -> None:
    ontology = files("recollect.doors.http").joinpath("sample_ontology.yaml").read_text(encoding="utf-8")
    await engine.import_ontology(Scope("sample", project=PROJECT), ontology)
    start = datetime.now(UTC).replace(microsecond=0) - timedelta(days=3)
    for day, ((user, session), lines) in enumerate(STORY.items()):
        scope = Scope(user, session, PROJECT)
        at = start + timedelta(days=day)
        turns = [Turn(role, text, at=at + timedelta(minutes=n)) for n, (role, text) in enumerate(lines)]
        if not await is_there(engine, scope):
            await engine.record(scope, turns)
    for user in dict.fromkeys(user for user, _ in STORY):
        await engine.settle(Scope(user, project=PROJECT))


async def is_there(engine: Engine, scope: Scope) -> bool:
    try:
        await engine.history(scope, limit=1)
    except NotFound:
        return False
    return True
