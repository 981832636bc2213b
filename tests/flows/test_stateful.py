"""Whatever several users do, in whatever order, each reads exactly what they wrote: a model beside the engine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, ClassVar
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from recollect import Lesson, Scope, connect_sync
from recollect.errors import Conflict, InvalidInput, NotFound
from recollect.providers.fake import FakeEmbedder
from recollect.sync import SyncEngine
from tests.bounds import bound
from tests.citus_database import CITUS, emptied
from tests.copied_database import copied

USERS, SESSIONS = st.sampled_from(("alex", "blair", "casey")), st.sampled_from(("monday", "tuesday"))
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=40).filter(str.strip)


class Users(RuleBasedStateMachine):
    """Turns by user and session, and active facts by user and key, as they must be."""

    memory: ClassVar[SyncEngine]
    learned = Bundle("learned")

    @initialize()
    def start(self) -> None:
        self.project = f"project-{uuid4()}"
        self.turns: dict[tuple[str, str], list[str]] = {}
        self.facts: dict[tuple[str, str], str] = {}
        self.keys: dict[str, tuple[str, str]] = {}  # idempotency keys, and the session and text they wrote
        self.erasures = 0  # keys may be used again after one

    def scope(self, user: str, session: str | None = None) -> Scope:
        return Scope(user, session, self.project)

    @rule(user=USERS, session=SESSIONS, text=WORDS)
    def record(self, user: str, session: str, text: str) -> None:
        self.memory.record(self.scope(user, session), [("user", text), ("assistant", "Yes.")])
        self.turns.setdefault((user, session), []).extend([text, "Yes."])

    @rule(user=USERS, session=SESSIONS, text=WORDS, number=st.integers(0, 3))
    def record_once(self, user: str, session: str, text: str, number: int) -> None:
        key = f"{user}-{self.erasures}-{number}"
        is_new = key not in self.keys
        first = self.keys.setdefault(key, (session, text))
        try:
            self.memory.record(self.scope(user, session), [("user", text)], idempotency_key=key)
        except Conflict:
            assert first != (session, text)
            return
        assert first == (session, text)
        if is_new:
            self.turns.setdefault((user, session), []).append(text)

    @rule(target=learned, user=USERS, key=st.sampled_from(("city", "team", "shoe size")), value=WORDS)
    def learn(self, user: str, key: str, value: str) -> tuple[str, str, str]:
        for known in self.memory.memories(self.scope(user), kinds=["fact"], key=key, owner="user"):
            self.memory.forget(self.scope(user), memory=known.id)
        made = self.memory.learn(self.scope(user), Lesson(kind="fact", key=key, value=value, owner="user"))
        self.facts[user, key] = made.value
        return user, key, str(made.id)

    @rule(of=learned, value=WORDS)
    def correct(self, of: tuple[str, str, str], value: str) -> None:
        user, key, memory = of
        try:
            self.facts[user, key] = self.memory.correct(self.scope(user), memory, value).value
        except (NotFound, InvalidInput):  # forgotten or replaced
            active = self.memory.memories(self.scope(user), kinds=["fact"], key=key, owner="user")
            assert memory not in {str(each.id) for each in active}

    @rule(of=learned, other=USERS)
    def correct_as_another(self, of: tuple[str, str, str], other: str) -> None:
        user, _, memory = of
        if other != user:
            with pytest.raises(NotFound):
                self.memory.correct(self.scope(other), memory, "taken over")

    @rule(of=consumes(learned))
    def forget_memory(self, of: tuple[str, str, str]) -> None:
        user, key, memory = of
        active = {str(each.id) for each in self.memory.memories(self.scope(user), kinds=["fact"], key=key)}
        try:
            self.memory.forget(self.scope(user), memory=memory)
        except NotFound:
            return
        if memory in active:
            self.facts.pop((user, key), None)

    @rule(user=USERS, session=SESSIONS)
    def forget_session(self, user: str, session: str) -> None:
        if self.turns.pop((user, session), None) is not None:
            self.memory.forget(self.scope(user, session))
            self.erasures += 1

    @rule(user=USERS)
    def forget_user(self, user: str) -> None:
        self.memory.forget(self.scope(user))
        self.erasures += 1
        self.turns = {place: said for place, said in self.turns.items() if place[0] != user}
        self.facts = {place: value for place, value in self.facts.items() if place[0] != user}

    @invariant()
    def each_reads_what_they_wrote(self) -> None:
        for user in ("alex", "blair", "casey") if hasattr(self, "turns") else ():
            sessions = {talk.session for talk in self.memory.conversations(self.scope(user))}
            assert sessions == {session for who, session in self.turns if who == user}
            for session in sessions:
                stored = self.memory.history(self.scope(user, session), limit=500)
                assert [turn.text for turn in stored] == self.turns[user, session]
            active = self.memory.memories(self.scope(user), kinds=["fact"], owner="user")
            assert {each.key: each.value for each in active} == {
                key: value for (who, key), value in self.facts.items() if who == user
            }


@pytest.fixture(scope="module")
def memory(server: str, template: str) -> Iterator[SyncEngine]:
    with ExitStack() as stack:
        dsn = stack.enter_context(emptied(CITUS) if CITUS else copied(server, template))
        yield stack.enter_context(connect_sync(dsn=dsn, embedder=FakeEmbedder(), worker=False))


@pytest.mark.timeout(1800)
def test_each_user_reads_what_they_wrote(memory: SyncEngine) -> None:
    case: Any = Users.TestCase()
    Users.memory = memory
    case.settings = settings(
        max_examples=bound(6, 200),
        stateful_step_count=bound(15, 50),
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate,) if bound(0, 1) == 0 else tuple(Phase),
    )
    case.runTest()
