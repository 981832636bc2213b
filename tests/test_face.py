"""The face: what `import recollect` gives, the same for those who await and those who do not, and the settings."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import Field, fields
from typing import Any, get_type_hints

import pytest

import recollect
from recollect import InvalidSetting, RecollectError, Scope, Settings, errors
from recollect import engine as engine_module
from recollect import sync as sync_module
from recollect.setting_sources import PREFIXES
from recollect.settings import read_settings

# A context for calls that are awaited inside it has no meaning for code that does not await.
ONLY_ASYNC = {"deadline"}


def verbs(engine: type) -> dict[str, Any]:
    members = inspect.getmembers(engine, callable)
    return {name: member for name, member in members if not name.startswith("_") and name not in ONLY_ASYNC}


@pytest.mark.parametrize("group", ["Engine", "Terms", "Sources", "Documents", "Keys", "Runtime"])
def test_sync_engine_has_same_verbs(group: str) -> None:
    asynchronous, plain_class = getattr(engine_module, group), getattr(sync_module, f"Sync{group}")
    assert set(verbs(asynchronous)) == set(verbs(plain_class))
    for name, verb in verbs(asynchronous).items():
        awaited, plain = inspect.signature(verb), inspect.signature(verbs(plain_class)[name])
        assert list(awaited.parameters.values()) == list(plain.parameters.values()), name
        expected = get_type_hints(verb)["return"]
        got = get_type_hints(verbs(plain_class)[name])["return"]
        assert got == (Iterator[str] if expected == AsyncIterator[str] else expected), name


def test_the_sync_engine_works_from_plain_code(settings: Settings) -> None:
    alex = Scope("alex", "monday")
    with recollect.connect_sync(settings, worker=False) as memory:
        memory.record(alex, [("user", "the code word is heron")])

        assert memory.recall(alex, "code word").hits[0].text == "the code word is heron"
        assert "heron" in memory.context(alex, "code word").text
        assert [turn.index for turn in memory.history(alex)] == [0]
        assert [json.loads(line)["kind"] for line in memory.export(alex)] == [
            "conversation",
            "turn",
            "request",
            "request",
        ]
        assert memory.explain(alex, memory.recall(alex, "heron").request_id).query == "heron"
        memory.settle(alex)
        assert memory.forget(Scope("alex")).rows["turn"] == 1


def test_a_sync_engine_that_cannot_connect_raises_and_ends_its_thread() -> None:
    with pytest.raises(InvalidSetting), recollect.connect_sync(dsn="nonsense"):
        pass


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = "import sys, recollect; print([m for m in ('numpy', 'psycopg', 'asyncio', 'httpx2') if m in sys.modules])"

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_every_name_of_the_face_is_there_and_no_other() -> None:
    assert all(getattr(recollect, name).__name__ == name for name in recollect.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = recollect.nonsense


def test_every_error_is_explained_and_given_to_callers() -> None:
    found = [e for _, e in inspect.getmembers(errors, inspect.isclass) if issubclass(e, RecollectError)]

    assert len(found) >= 9
    for error in found:
        assert error.__name__ in recollect.__all__
        assert error.__doc__
        assert error.code


# Settings ------------------------------------------------------------------------------------------------------------


def test_every_setting_has_a_variable_of_its_own_and_a_meaning() -> None:
    variables = [f.metadata["env"] for f in fields(Settings)]

    assert len(set(variables)) == len(variables)
    assert all(name.startswith(PREFIXES) and name.isupper() for name in variables)
    assert all(len(f.metadata["meaning"]) > 5 for f in fields(Settings))


def sample(f: Field[Any], kind: type) -> tuple[str, Any]:
    """A value that the setting takes, as it is written and as it is read."""
    low = f.metadata["low"]
    if "refused" in f.metadata:
        return str(f.default), f.default
    if "choices" in f.metadata:
        return f.metadata["choices"][-1], f.metadata["choices"][-1]
    if low is not None:
        return str(low), kind(low)
    return {bool: ("on", True), str: ("x", "x")}[kind]


def test_every_setting_is_read_from_its_variable_and_by_name() -> None:
    kinds = get_type_hints(Settings)
    for f in fields(Settings):
        text, value = sample(f, kinds[f.name])
        assert getattr(read_settings({f.metadata["env"]: text}), f.name) == value
        assert getattr(read_settings({f.metadata["env"]: text}, **{f.name: value}), f.name) == value


WRONG = [
    *((f.metadata["env"], "many") for f in fields(Settings) if f.type in ("int", "float", "bool")),
    *((f.metadata["env"], str(f.metadata["low"] - 1)) for f in fields(Settings) if f.metadata["low"] is not None),
    *((f.metadata["env"], f"{f.metadata['high'] + 1:.0f}") for f in fields(Settings) if f.metadata["high"] is not None),
    *((f.metadata["env"], "sometimes") for f in fields(Settings) if "choices" in f.metadata),
    *((f.metadata["env"], "nan") for f in fields(Settings) if f.type == "float"),
    ("MEMORY_RETENTION_DAYS", "1000000000"),
    ("MEMORY_SESSION_WINDOW_MINUTES", "100000000000"),
]


@pytest.mark.parametrize(("variable", "value"), WRONG)
def test_a_wrong_value_is_refused_and_the_variable_named(variable: str, value: str) -> None:
    with pytest.raises(InvalidSetting) as refused:
        read_settings({variable: value})

    assert refused.value.setting == variable
    assert str(refused.value).startswith(f"{variable}: ")


@pytest.mark.parametrize(
    ("name", "value"), [("pool_size", "ten"), ("home", None), ("echo", "yes"), ("pool_timeout", [])]
)
def test_a_value_of_the_wrong_kind_given_by_name_is_refused_too(name: str, value: Any) -> None:
    with pytest.raises(InvalidSetting):
        read_settings({}, **{name: value})


def test_other_variables_are_nobody_s_business() -> None:
    assert read_settings({"PATH": "/bin", "MEMORY_SOMETHING_ELSE": "1"}) == Settings()
