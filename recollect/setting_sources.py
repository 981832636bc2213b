"""Where settings are found: the environment, then a .env file, then a TOML file. Read by settings.py, which knows what
each of them means.

Every value is a text that remembers its place, so that a mistake can be shown where it was made. A .env file is often
shared with other programs: lines that are not ours are passed over, a line of ours that cannot be read is an error. The
parser is our own for that reason, and for the line numbers; python-dotenv skips what it cannot read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
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
class Found:
    """A value as it was written, and where; no file means the environment."""

    text: str
    file: str | None = None
    line: int | None = None

    @property
    def place(self) -> str:
        if self.file is None:
            return "environment"
        return self.file if self.line is None else f"{self.file}, line {self.line}"


@dataclass(frozen=True, slots=True)
class Findings:
    """`values` by variable; `unknown` are names that look like ours and are not, each with its place."""

    values: Mapping[str, Found]
    unknown: Sequence[tuple[str, Found]]


def find(environ: Mapping[str, str] | None, variables: Mapping[str, str]) -> Findings:
    """`variables` are the settings' variables by field. With an `environ` of one's own, only the files that it names
    are read; with the process's, also those of the working directory."""
    is_own = environ is not None
    environ = os.environ if environ is None else environ
    around = {name: Found(text) for name, text in environ.items() if name.startswith(PREFIXES)}
    env_file = read_env_file(chosen_file(environ.get(ENV_FILE), None if is_own else ".env", ENV_FILE))
    named = around.get(CONFIG_FILE) or env_file.get(CONFIG_FILE)
    config = read_toml(
        chosen_file(named.text if named else None, None if is_own else "recollect.toml", CONFIG_FILE), variables
    )
    known = {*variables.values(), *ANYWHERE}
    unknown = [
        *((name, at) for name, at in around.items() if name not in known and name not in ENVIRONMENT_ONLY),
        *((name, at) for layer in (env_file, config) for name, at in layer.items() if name not in known),
    ]
    return Findings({**config, **env_file, **around}, unknown)


def chosen_file(named: str | None, usual: str | None, variable: str) -> Path | None:
    """The file that is named, or else the usual one if it is there. An empty name means none."""
    if named is None:
        return Path(usual) if usual is not None and Path(usual).is_file() else None
    if not named:
        return None
    if not Path(named).is_file():
        raise InvalidSetting(variable, f"there is no file {named}; name another, or nothing to read none")
    return Path(named)


def text_of(path: Path, variable: str) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidSetting(variable, f"{path} cannot be read: {error}") from None


# .env -----------------------------------------------------------------------------------------------------------------


def read_env_file(path: Path | None) -> dict[str, Found]:
    if path is None:
        return {}
    text = text_of(path, ENV_FILE)
    return {name: Found(value, str(path), line) for name, value, line in bindings(text, path)}


def bindings(text: str, path: Path) -> Iterator[tuple[str, str, int]]:
    """What is ours in the text of a .env file: name, value, line. A name that comes twice has its last value."""
    position = 0
    while position < len(text):
        binding = BINDING.match(text, position)
        end = binding.end() if binding else line_end(text, position)
        if ours := OURS.match(text, position):
            line = text.count("\n", 0, position) + 1
            if binding is None or is_broken(binding):
                raise InvalidSetting(ours[1], f"{path}, line {line} is not NAME = value; look at its quotes")
            yield binding["name"], value_of(binding), line
        position = end + 1


def line_end(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end


def is_broken(binding: re.Match[str]) -> bool:
    """It begins with a quote, and that is not closed or something follows it."""
    return binding["bare"] is not None and binding["bare"].lstrip().startswith(("'", '"'))


def value_of(binding: re.Match[str]) -> str:
    if binding["plain"] is not None:
        return binding["plain"]
    if binding["escaped"] is not None:
        return re.sub(r"\\(.)", lambda seen: ESCAPES.get(seen[1], seen[0]), binding["escaped"], flags=re.DOTALL)
    return re.sub(r"\s#.*", "", binding["bare"]).strip()


# TOML -----------------------------------------------------------------------------------------------------------------


def read_toml(path: Path | None, variables: Mapping[str, str]) -> dict[str, Found]:
    """The table [recollect], by variable, whether a key is the variable or the field."""
    if path is None:
        return {}
    text = text_of(path, CONFIG_FILE)
    found: dict[str, Found] = {}
    for key, value in parsed_table(text, path).items():
        at = Found(written(key, value), str(path), toml_line(text, key))
        name = variables.get(key, key)
        if name in found:
            raise InvalidSetting(name, f"it is there twice: {found[name].place} and {at.place}")
        found[name] = at
    return found


def parsed_table(text: str, path: Path) -> Mapping[str, Any]:
    import tomllib

    try:
        table = tomllib.loads(text).get(TABLE, {})
    except tomllib.TOMLDecodeError as error:
        raise InvalidSetting(CONFIG_FILE, f"{path} is not TOML: {error}") from None
    if not isinstance(table, dict):
        raise InvalidSetting(CONFIG_FILE, f"{path}: {TABLE} is not a table")
    return table


def written(key: str, value: object) -> str:
    """As the environment would have it."""
    if isinstance(value, str | bool | int | float):
        return str(value)
    raise InvalidSetting(key, f"a {type(value).__name__} is not a text, a number or true or false")


def toml_line(text: str, key: str) -> int | None:
    """Where a key of our table stands; tomllib does not say."""
    head = re.search(rf"^[ \t]*\[[ \t]*{TABLE}[ \t]*\]", text, re.MULTILINE)
    key_pattern = re.compile(rf"^[ \t]*(?:{TABLE}[ \t]*\.[ \t]*)?[\"']?{re.escape(key)}[\"']?[ \t]*=", re.MULTILINE)
    at = key_pattern.search(text, head.end() if head else 0)
    return text.count("\n", 0, at.start()) + 1 if at else None
