"""Sources of settings: the environment, a .env file and a TOML file. Every value keeps its place, so that an error can
name it: python-dotenv has no line numbers, and skips what it cannot parse, so the parser of .env is our own."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recollect.errors import InvalidSetting

PREFIXES = ("RECOLLECT_", "MEMORY_", "CUSTOM_INSTRUCTIONS")  # the last is a name that others know
ENV_FILE, CONFIG_FILE = "RECOLLECT_ENV_FILE", "RECOLLECT_CONFIG"
TABLE = "recollect"
# Variables that are no settings, and where they count.
ANYWHERE = (CONFIG_FILE,)
ENVIRONMENT_ONLY = (ENV_FILE, "RECOLLECT_USER")

# A quoted value may run over several lines, as keys and certificates do.
BINDING = re.compile(
    r"[ \t]*(?:export[ \t]+)?(?P<name>[A-Za-z_]\w*)[ \t]*="
    r"(?:[ \t]*(?:'(?P<plain>[^']*)'|\"(?P<escaped>(?:[^\"\\]|\\.)*)\")[ \t]*(?:[ \t]#[^\n]*)?"
    r"|(?P<bare>[^\n]*))(?=\n|\Z)",
    re.DOTALL,
)
OURS = re.compile(rf"[ \t]*(?:export[ \t]+)?((?:{'|'.join(PREFIXES)})\w*)")
ESCAPES = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\", "$": "$"}


@dataclass(frozen=True, slots=True)
class SettingText:
    """A value as written, and where; without a file it comes from the environment."""

    text: str
    file: str | None = None
    line: int | None = None

    @property
    def place(self) -> str:
        if self.file is None:
            return "environment"
        return self.file if self.line is None else f"{self.file}, line {self.line}"


@dataclass(frozen=True, slots=True)
class SettingTexts:
    """`values` by variable; `unknown` are names with our prefix that are not settings, each with its place."""

    values: Mapping[str, SettingText]
    unknown: Sequence[tuple[str, SettingText]]


def find_settings(environ: Mapping[str, str] | None, variables: Mapping[str, str]) -> SettingTexts:
    """Return the text of each setting. `variables` maps fields to variables. With an `environ` argument, only the files
    it names are read; with the process environment, also those of the working directory."""
    env_name, config_name = (".env", "recollect.toml") if environ is None else (None, None)
    environ = os.environ if environ is None else environ
    around = {name: SettingText(text) for name, text in environ.items() if name.startswith(PREFIXES)}
    env_file = read_env_file(choose_file(environ.get(ENV_FILE), env_name, ENV_FILE))
    named = {**env_file, **around}.get(CONFIG_FILE)
    config = read_toml(choose_file(named.text if named else None, config_name, CONFIG_FILE), variables)
    known = {*variables.values(), *ANYWHERE}
    found = [(name, at) for name, at in around.items() if name not in ENVIRONMENT_ONLY]
    unknown = [(name, at) for name, at in (*found, *env_file.items(), *config.items()) if name not in known]
    return SettingTexts({**config, **env_file, **around}, unknown)


def choose_file(named: str | None, usual: str | None, variable: str) -> Path | None:
    """Return the named file, or the usual one if it exists. An empty name means none."""
    if named is None:
        return Path(usual) if usual is not None and Path(usual).is_file() else None
    if not named:
        return None
    if not Path(named).is_file():
        raise InvalidSetting(variable, f"there is no file {named}; name another, or nothing to read none")
    return Path(named)


def read_text(path: Path, variable: str) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidSetting(variable, f"{path} cannot be read: {error}") from None


# .env -----------------------------------------------------------------------------------------------------------------


def read_env_file(path: Path | None) -> dict[str, SettingText]:
    """Return our variables in a .env file. A repeated name has its last value."""
    found: dict[str, SettingText] = {}
    text, position = read_text(path, ENV_FILE) if path else "", 0
    while position < len(text):
        binding = BINDING.match(text, position)
        end = binding.end() if binding else (text.find("\n", position) + 1 or len(text) + 1) - 1
        if ours := OURS.match(text, position):
            line = text.count("\n", 0, position) + 1
            # A bare value with a quote first: a quoted one is not closed, or something follows it.
            if binding is None or (binding["bare"] or "").lstrip().startswith(("'", '"')):
                raise InvalidSetting(ours[1], f"{path}, line {line} is not NAME = value; look at its quotes")
            found[binding["name"]] = SettingText(read_value(binding), str(path), line)
        position = end + 1
    return found


def read_value(binding: re.Match[str]) -> str:
    if binding["plain"] is not None:
        return binding["plain"]
    if binding["escaped"] is not None:
        return re.sub(r"\\(.)", lambda seen: ESCAPES.get(seen[1], seen[0]), binding["escaped"], flags=re.DOTALL)
    return re.sub(r"\s#.*", "", binding["bare"]).strip()


# TOML -----------------------------------------------------------------------------------------------------------------


def read_toml(path: Path | None, variables: Mapping[str, str]) -> dict[str, SettingText]:
    """Return the values of table [recollect] by variable; a key is a variable or a field name."""
    if path is None:
        return {}
    text = read_text(path, CONFIG_FILE)
    found: dict[str, SettingText] = {}
    for key, value in parse_table(text, path).items():
        if not isinstance(value, str | bool | int | float):
            raise InvalidSetting(key, f"must be a string, a number, true or false, got {type(value).__name__}")
        at = SettingText(str(value), str(path), find_toml_line(text, key))
        name = variables.get(key, key)
        if name in found:
            raise InvalidSetting(name, f"it is there twice: {found[name].place} and {at.place}")
        found[name] = at
    return found


def parse_table(text: str, path: Path) -> Mapping[str, Any]:
    import tomllib

    try:
        table = tomllib.loads(text).get(TABLE, {})
    except tomllib.TOMLDecodeError as error:
        raise InvalidSetting(CONFIG_FILE, f"{path} is not TOML: {error}") from None
    if not isinstance(table, dict):
        raise InvalidSetting(CONFIG_FILE, f"{path}: {TABLE} is not a table")
    return table


def find_toml_line(text: str, key: str) -> int | None:
    """Return the line of a key in our table; tomllib does not report it."""
    head = re.search(rf"^[ \t]*\[[ \t]*{TABLE}[ \t]*\]", text, re.MULTILINE)
    key_pattern = re.compile(rf"^[ \t]*(?:{TABLE}[ \t]*\.[ \t]*)?[\"']?{re.escape(key)}[\"']?[ \t]*=", re.MULTILINE)
    at = key_pattern.search(text, head.end() if head else 0)
    return text.count("\n", 0, at.start()) + 1 if at else None
