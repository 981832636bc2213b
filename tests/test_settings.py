"""Settings from the environment, a .env file and a TOML file: who wins, what is refused where, and how it is shown."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from recollect import InvalidSetting, Settings
from recollect.cli.operate import settings as show_settings
from recollect.settings import read_settings, trace_settings

Run = Callable[..., Any]
# What the configurations of others name, with the default that counts here.
EXPECTED = {
    "MEMORY_ENABLED": True,
    "MEMORY_DB_CONNECTION_STRING": "",
    "MEMORY_DB_POOL_SIZE": 10,
    "MEMORY_DB_MAX_OVERFLOW": 20,
    "MEMORY_DB_POOL_TIMEOUT": 30,
    "MEMORY_DB_ECHO": False,
    "MEMORY_VECTOR_STORE": "pgvector",
    "MEMORY_VECTOR_COLLECTION_NAME": "ai_sdk_conversation_memory",
    "MEMORY_CHROMA_PERSIST_DIRECTORY": "",
    "MEMORY_OPENSEARCH_URL": "",
    "MEMORY_RETENTION_DAYS": 7,
    "MEMORY_CLEANUP_INTERVAL_HOURS": 24,
    "MEMORY_CLEANUP_BATCH_SIZE": 100,
    "MEMORY_MAX_HISTORY_MESSAGES": 10,
    "MEMORY_SEMANTIC_SEARCH_K": 3,
    "MEMORY_MAX_CONTEXT_TOKENS": 4000,
    "MEMORY_SEMANTIC_SIMILARITY_THRESHOLD": 0.7,
    "MEMORY_SUMMARIZATION_ENABLED": True,
    "MEMORY_SUMMARIZATION_THRESHOLD": 20,
    "MEMORY_SUMMARIZATION_MODEL": "",
    "MEMORY_SUMMARIZATION_PROVIDER": "OpenAI",
    "MEMORY_SUMMARIZATION_TEMPERATURE": 0.3,
    "MEMORY_SUMMARIZATION_MAX_TOKENS": 500,
    "MEMORY_ALLOW_DATA_EXPORT": True,
    "MEMORY_ALLOW_DATA_DELETION": True,
    "MEMORY_LOG_OPERATIONS": True,
    "MEMORY_MASK_SENSITIVE_DATA": False,
    "MEMORY_REDIS_CACHE_ENABLED": False,
    "MEMORY_REDIS_URL": "redis://localhost:6379/0",
    "MEMORY_REDIS_TTL_SECONDS": 3600,
    "MEMORY_EMBEDDING_BATCH_SIZE": 10,
    "MEMORY_ASYNC_STORAGE": True,
    "MEMORY_ENABLE_CROSS_USER_LEARNING": False,
    "MEMORY_ENABLE_SUGGESTIONS": True,
    "MEMORY_SUGGESTION_COUNT": 3,
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, and no setting in the environment."""
    import os

    for name in [name for name in os.environ if name.startswith(("RECOLLECT_", "MEMORY_"))]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(folder: Path) -> Run:
    app = typer.Typer()
    app.command()(show_settings)

    def invoke(*arguments: str) -> Any:
        done = CliRunner().invoke(app, arguments, catch_exceptions=False, env={"COLUMNS": "300"})
        assert done.exit_code == 0
        return json.loads(done.stdout) if "--json" in arguments else done

    return invoke


def test_the_names_that_others_use_are_all_there_with_their_defaults() -> None:
    assert {f.metadata["env"]: f.default for f in fields(Settings) if f.metadata["env"] in EXPECTED} == EXPECTED


# Who wins -------------------------------------------------------------------------------------------------------------


def test_by_name_beats_the_environment_beats_env_beats_toml_beats_the_default(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert read_settings().history == 10
    (folder / "recollect.toml").write_text("[recollect]\nhistory = 2\n")
    assert read_settings().history == 2
    (folder / ".env").write_text("MEMORY_MAX_HISTORY_MESSAGES=3")
    assert read_settings().history == 3
    monkeypatch.setenv("MEMORY_MAX_HISTORY_MESSAGES", "4")
    assert read_settings().history == 4
    assert read_settings(history=5).history == 5


def test_an_environment_of_one_s_own_has_only_the_files_that_it_names(folder: Path) -> None:
    (folder / ".env").write_text("MEMORY_MAX_HISTORY_MESSAGES=3")
    (folder / "other.toml").write_text("[recollect]\nhistory = 2\n")

    assert read_settings({}) == Settings()
    assert read_settings({"RECOLLECT_ENV_FILE": ".env"}).history == 3
    assert read_settings({"RECOLLECT_CONFIG": "other.toml"}).history == 2


def test_an_empty_name_means_no_file_and_a_wrong_one_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / ".env").write_text("RECOLLECT_CONFIG = named.toml")
    (folder / "named.toml").write_text("[recollect]\nproject = 'named'")
    assert read_settings().project == "named"
    monkeypatch.setenv("RECOLLECT_ENV_FILE", "")
    assert read_settings() == Settings()
    monkeypatch.setenv("RECOLLECT_CONFIG", "nowhere.toml")
    with pytest.raises(InvalidSetting, match=r"RECOLLECT_CONFIG: there is no file nowhere\.toml"):
        read_settings()


# Files ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("RECOLLECT_PROJECT=shop", "shop"),
        ("  export RECOLLECT_PROJECT = shop  # ours", "shop"),
        ("RECOLLECT_PROJECT = 'a # b'  # ours", "a # b"),
        ('RECOLLECT_PROJECT="a\\nb \\"c\\" \\d"', 'a\nb "c" \\d'),
        ("RECOLLECT_PROJECT='C:\\new'", "C:\\new"),
        ("RECOLLECT_PROJECT=a#b=c", "a#b=c"),
        ("RECOLLECT_PROJECT= # nothing", ""),
        ("RECOLLECT_PROJECT=first\r\nRECOLLECT_PROJECT=last", "last"),
        ("\ufeffRECOLLECT_PROJECT=商店", "商店"),
        ("KEY='-----BEGIN\nRECOLLECT_PROJECT=inside\n'\nRECOLLECT_PROJECT=after", "after"),
        ("not a line\n# RECOLLECT_PROJECT=off\n\nRECOLLECT_PROJECT=on", "on"),
        ("OTHER='never closed\nRECOLLECT_PROJECT=on", "on"),
    ],
)
def test_a_line_of_env_is_read_as_shells_and_people_write_it(folder: Path, line: str, value: str) -> None:
    (folder / ".env").write_text(line, encoding="utf-8", newline="")

    assert read_settings().project == value


@pytest.mark.parametrize("line", ["RECOLLECT_PROJECT", "RECOLLECT_PROJECT='shop", 'export RECOLLECT_PROJECT="a" b'])
def test_a_line_of_ours_that_cannot_be_read_is_named(folder: Path, line: str) -> None:
    (folder / ".env").write_text(f"# ours\n{line}\n")

    with pytest.raises(InvalidSetting, match=r"RECOLLECT_PROJECT: \.env, line 2 is not NAME = value"):
        read_settings()


def test_toml_takes_fields_and_variables_with_values_of_their_own_kind(folder: Path) -> None:
    (folder / "recollect.toml").write_text(
        "[other]\nhistory = 50\n[recollect]\nhistory = 4\nMEMORY_DB_POOL_TIMEOUT = 2.5\necho = true\nproject = 'shop'\n"
    )

    reading = trace_settings()

    assert reading.settings == Settings(history=4, pool_timeout=2.5, echo=True, project="shop")
    assert reading.found["MEMORY_MAX_HISTORY_MESSAGES"].place == "recollect.toml, line 4"
    assert reading.warnings == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[recollect\n", r"RECOLLECT_CONFIG: recollect\.toml is not TOML: .*line 1"),
        ("recollect = 1", r"RECOLLECT_CONFIG: recollect\.toml: recollect is not a table"),
        ("[recollect]\nproject = ['a']", "project: must be a string, a number, true or false, got list"),
        (
            "[recollect]\nhistory = 1\nMEMORY_MAX_HISTORY_MESSAGES = 2",
            r"MEMORY_MAX_HISTORY_MESSAGES: it is there twice: recollect\.toml, line 2 and recollect\.toml, line 3",
        ),
        ("[recollect]\nhistory = 'many'", r"'many' is not a whole number; it means: .* \(recollect\.toml, line 2\)"),
        (
            "[recollect]\n\nhistory = 99",
            r"MEMORY_MAX_HISTORY_MESSAGES: 99 is not between 1 and 50 \(recollect\.toml, line 3\)",
        ),
    ],
)
def test_a_mistake_in_toml_is_told_with_its_place(folder: Path, text: str, problem: str) -> None:
    (folder / "recollect.toml").write_text(text)

    with pytest.raises(InvalidSetting, match=problem):
        read_settings()


def test_a_file_that_is_no_text_is_told(folder: Path) -> None:
    (folder / ".env").write_bytes(b"\xff\xfe\x00")

    with pytest.raises(InvalidSetting, match=r"RECOLLECT_ENV_FILE: \.env cannot be read"):
        read_settings()


# Values ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["1", "true", "Yes", "ON", "0", "False", "no", "off"])
def test_a_switch_takes_every_usual_word(text: str) -> None:
    assert read_settings({"MEMORY_DB_ECHO": text}).echo is (text.lower() in ("1", "true", "yes", "on"))


@pytest.mark.parametrize(
    ("variable", "value", "reason"),
    [
        ("MEMORY_VECTOR_STORE", "chroma", "stored in PostgreSQL.*use pgvector"),
        ("MEMORY_CHROMA_PERSIST_DIRECTORY", "./chroma_memory", "not in Chroma"),
        ("MEMORY_OPENSEARCH_URL", "http://localhost:9200", "not in OpenSearch"),
        ("MEMORY_SUMMARIZATION_PROVIDER", "Bedrock", "RECOLLECT_MODEL_URL"),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(variable: str, value: str, reason: str) -> None:
    with pytest.raises(InvalidSetting, match=f"{variable}: .* cannot be used: .*{reason}"):
        read_settings({variable: value})


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"embedder": "bogus"}, "embedder: 'bogus' is not one of local, openai, none"),
        ({"pool_size": 0}, "pool_size: 0 is not between 1 and 1,000"),
        ({"workers": "many"}, "workers: 'many' is not a int"),
    ],
)
def test_settings_made_in_python_are_checked_too(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidSetting) as refused:
        Settings(**given)
    assert str(refused.value).startswith(problem)


def test_the_default_of_what_is_refused_may_be_said_in_any_case() -> None:
    said = {"MEMORY_VECTOR_STORE": "PGVector", "MEMORY_SUMMARIZATION_PROVIDER": "openai", "MEMORY_OPENSEARCH_URL": ""}

    assert read_settings(said).vector_store == "PGVector"


# As they are shown ----------------------------------------------------------------------------------------------------


def test_each_setting_is_shown_with_its_value_and_its_source(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / ".env").write_text("\nRECOLLECT_PROJECT=shop\nMEMORY_DB_ECHO=0\n")
    monkeypatch.setenv("MEMORY_DB_POOL_SIZE", "4")

    told = {row["variable"]: row for row in run("--json")["settings"]}

    assert list(told) == [f.metadata["env"] for f in fields(Settings)]
    seen = {name: (row["value"], row["source"], row["file"], row["line"]) for name, row in told.items()}
    assert seen["RECOLLECT_PROJECT"] == ("shop", "file", ".env", 2)
    assert seen["MEMORY_DB_ECHO"] == (False, "file", ".env", 3)
    assert seen["MEMORY_DB_POOL_SIZE"] == (4, "environment", None, None)
    assert seen["MEMORY_RETENTION_DAYS"] == (7, "default", None, None)
    assert [row["variable"] for row in run("--json", "--changed")["settings"]] == [
        "RECOLLECT_PROJECT",
        "MEMORY_DB_POOL_SIZE",
    ]
    people = run("--changed").stdout
    assert ".env, line 2" in people
    assert "MEMORY_DB_ECHO" not in people


def test_secrets_are_masked_wherever_they_are_shown(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for f in fields(Settings):
        if f.metadata["secret"]:
            monkeypatch.setenv(f.metadata["env"], "hush")

    told = run("--json", "--changed")["settings"]

    assert len(told) >= 4
    assert {row["value"] for row in told} == {"***"}
    assert "hush" not in run().output


def test_names_that_are_no_settings_are_warned_of_with_the_nearest_one(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORY_RETENTION_DAY", "3")
    monkeypatch.setenv("RECOLLECT_USER", "alex")
    (folder / ".env").write_text("PATH=/bin\nRECOLLECT_QQQQ=1\nRECOLLECT_USER=alex\n")
    (folder / "recollect.toml").write_text("[recollect]\nhistry = 4\n")

    warnings = run("--json")["warnings"]

    assert warnings == [
        "MEMORY_RETENTION_DAY (environment) is not a setting; did you mean MEMORY_RETENTION_DAYS?",
        "RECOLLECT_QQQQ (.env, line 2) is not a setting",
        "RECOLLECT_USER (.env, line 3) counts in the environment only",
        "histry (recollect.toml, line 2) is not a setting; did you mean history?",
    ]
    people = run()
    assert people.stderr.count("warning: ") == 4
    assert "warning" not in people.stdout


def test_without_any_setting_nothing_is_changed(run: Run) -> None:
    assert run("--json", "--changed") == {"settings": [], "warnings": []}
    assert run("--changed").stdout == "All settings have their defaults.\n"


def test_a_request_may_take_as_long_as_the_model_unless_its_time_is_set() -> None:
    assert Settings().answer_seconds == 60
    assert Settings(model_url="http://localhost/v1", model_timeout=300.0).answer_seconds == 360
    assert Settings(model_url="http://localhost/v1", request_timeout=20.0).answer_seconds == 20
