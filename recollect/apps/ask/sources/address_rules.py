"""Which addresses a data source may have: driver, file, host, socket, parameters. `read_dsn` parses the address, and
`check_url` checks it.

Nothing is opened or resolved here. An address is checked when a source is added and each time it is opened, because the
settings may have changed since. Two kinds of callers:

- Network callers (HTTP, console, MCP), also those on this machine: SQLite, DuckDB, CSV and Parquet files below named
  folders, PostgreSQL and MySQL on hosts that the settings allow, and the parameters in PARAMETERS and MYSQL_PARAMETERS.
- Local callers (the command line, Python with `local=True`): they already have this process's rights, so files, hosts
  and sockets are free. Parameters still come from a list.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.apps.ask.sources.host_rules import (
    HostList,
    HostRules,
    check_host,
    is_allowed,
    parse_address,
    read_host_list,
)
from recollect.errors import InvalidInput, InvalidSetting
from recollect.values.data_source import MAX_DSN, mask_dsn
from recollect.values.text import check_text

if TYPE_CHECKING:
    from sqlalchemy import URL

    from recollect.settings import Settings

FIELD = "dsn"
PROJECT = "{project}"  # in a folder's name: each project has its own
VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
POSTGRES = "postgresql+psycopg"
MYSQL = "mysql+pymysql"  # MySQL and MariaDB
DUCKDB = "duckdb"
# A scheme alone means the driver that we bring; heroku and others still write the old name.
DRIVERS = {
    **dict.fromkeys(("postgresql", "postgres"), POSTGRES),
    **dict.fromkeys(("mysql", "mariadb", "mariadb+pymysql"), MYSQL),
    "sqlite3": "sqlite",
}
# Dialects that sqlglot names otherwise than SQLAlchemy.
DIALECTS = {"postgresql": "postgres", "mariadb": "mysql", "mssql": "tsql", "csv": "duckdb", "parquet": "duckdb"}
FILES = {"sqlite": "SQLite", "sqlite+pysqlite": "SQLite", DUCKDB: "DuckDB", "csv": "CSV", "parquet": "Parquet"}
# Files that DuckDB reads as tables, by the scheme of the address: one file, or all such files of a folder.
TABLE_FILES: Mapping[str, tuple[str, ...]] = {"csv": (".csv", ".tsv"), "parquet": (".parquet",)}
NUMBER = r"[0-9]{1,9}"
# What a PostgreSQL address may say after the question mark, and the values each may have.
PARAMETERS: Mapping[str, str] = {
    "sslmode": "disable|allow|prefer|require|verify-ca|verify-full",
    "sslrootcert": "system",
    "sslnegotiation": "postgres|direct",
    "ssl_min_protocol_version": r"TLSv1\.[23]",
    "channel_binding": "disable|prefer|require",
    "target_session_attrs": "any|read-write|read-only|primary|standby|prefer-standby",
    "connect_timeout": "[1-9]|10",
    "keepalives": "0|1",
    **dict.fromkeys(("tcp_user_timeout", "keepalives_idle", "keepalives_interval", "keepalives_count"), NUMBER),
}
# Names of files, and options of the session: for local callers. None of them is written to.
LOCAL_PARAMETERS = ("sslrootcert", "sslcert", "sslkey", "sslcrl", "options", "client_encoding")
ENVIRONMENT_PARAMETERS = ("passfile", "service")
# The same for MySQL. PyMySQL takes many more, among them files to read and statements to run.
MYSQL_PARAMETERS: Mapping[str, str] = {
    "sslmode": "disable|prefer|require|verify-full",
    "connect_timeout": "[1-9]|10",
}
MYSQL_LOCAL_PARAMETERS = ("sslrootcert",)


@dataclass(frozen=True, slots=True)
class SourceRules:
    """What the settings allow one caller. The default allows a network caller public hosts and no files."""

    hosts: HostRules = field(default_factory=HostRules)
    folders: tuple[Path, ...] = ()
    sockets: tuple[Path, ...] = ()
    is_local: bool = False
    environment: bool = False  # libpq may use PG* variables, password and service files
    same_server: bool = False  # other databases of Recollect's own server may be sources


LOCAL_RULES = SourceRules(HostRules(is_local=True), is_local=True)


@dataclass(frozen=True, slots=True)
class Address:
    """A checked address. One of `file`, `socket` and `host` is set; none of them is PostgreSQL's default socket."""

    driver: str
    file: str = ""
    socket: str = ""
    host: str = ""
    port: int | None = None
    user: str = ""
    password: str = field(default="", repr=False)
    database: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)


# Rules from settings --------------------------------------------------------------------------------------------------


def read_rules(settings: Settings, home: Path) -> SourceRules:
    """Return the rules for network callers. The sample's folder is always among the folders."""
    named = read_folders("RECOLLECT_SOURCE_FOLDERS", settings.source_folders)
    return SourceRules(
        HostRules(
            allowed=read_hosts("RECOLLECT_SOURCE_HOSTS", settings.source_hosts),
            denied=read_hosts("RECOLLECT_SOURCE_DENIED_HOSTS", settings.source_denied_hosts),
            private=settings.source_private_hosts,
        ),
        folders=(home / "sample", *(named or (home / "uploads" / PROJECT,))),
        sockets=read_folders("RECOLLECT_SOURCE_SOCKETS", settings.source_sockets),
        same_server=settings.source_same_server,
    )


def read_hosts(variable: str, text: str) -> HostList:
    try:
        return read_host_list(text)
    except ValueError as error:
        raise InvalidSetting(variable, str(error)) from None


def read_folders(variable: str, text: str) -> tuple[Path, ...]:
    found = tuple(Path(os.path.normpath(each)) for each in text.split(os.pathsep) if each)
    for folder in found:
        if not folder.is_absolute():
            raise InvalidSetting(variable, f"{str(folder)!r} is not an absolute path")
    return found


def rules_for(rules: SourceRules, settings: Settings, project: str, *, local: bool) -> SourceRules:
    """Return the rules for one caller: a local one, if the settings trust local callers, or one of a project."""
    if local and settings.source_local:
        return replace(
            rules,
            hosts=replace(rules.hosts, is_local=True),
            is_local=True,
            environment=settings.source_environment,
        )
    # A project that is called ".." or "a/b" has no folder of its own.
    is_plain = project not in ("", ".", "..") and "/" not in project and "\0" not in project
    folders = [folder for folder in rules.folders if is_plain or PROJECT not in str(folder)]
    return replace(rules, folders=tuple(Path(str(folder).replace(PROJECT, project)) for folder in folders))


# Addresses ------------------------------------------------------------------------------------------------------------


def read_dsn(dsn: str, environment: Mapping[str, str] | None = None) -> URL:
    """Return the address as a URL with the driver chosen. `${NAME}` is taken from the environment, so that a password
    need not be stored with the address. Errors show the address without its password."""
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    variables = os.environ if environment is None else environment

    def fill(match: re.Match[str]) -> str:
        if match[1] not in variables:
            raise InvalidInput(FIELD, f"names ${{{match[1]}}}, which is not set in the environment")
        return variables[match[1]]

    try:
        url = make_url(VARIABLE.sub(fill, check_text(FIELD, dsn, MAX_DSN).strip()))
    except (ArgumentError, ValueError):
        example = "write e.g. sqlite:///shop.db or postgresql://user@host/name"
        raise InvalidInput(FIELD, f"{mask_dsn(dsn)!r} is not a database URL; {example}") from None
    return url.set(drivername=DRIVERS.get(url.drivername, url.drivername))


def get_dialect(url: URL) -> str:
    """Return the dialect of an address as sqlglot names it."""
    name = url.get_backend_name()
    return DIALECTS.get(name, name)


def check_url(url: URL, rules: SourceRules) -> Address:
    """Return the address that a URL names, or raise an InvalidInput that names the rule it breaks."""
    if any(ord(character) < 32 for part in url for character in str(part or "")):
        raise InvalidInput(FIELD, "has a control character")
    if url.drivername in FILES:
        return check_file(url, rules)
    if url.drivername == POSTGRES:
        return check_postgres(url, rules)
    if url.drivername == MYSQL:
        return check_mysql(url, rules)
    if not rules.is_local:
        raise InvalidInput(
            FIELD,
            "names a driver that is not allowed; write sqlite:///file, duckdb:///file, csv:///file, parquet:///file,"
            " postgresql:// or mysql://",
        )
    return Address(url.drivername)


def check_file(url: URL, rules: SourceRules) -> Address:
    """Return the address of a file, or of a folder of CSV or Parquet files."""
    given, driver, name = url.database or "", url.get_backend_name(), FILES[url.drivername]
    if given in ("", ":memory:"):
        raise InvalidInput(FIELD, f"a {name} source is a file; write {driver}:///path/to/file")
    if any((url.query, url.host, url.username, url.port, given.startswith("file:"), "?" in given)):
        raise InvalidInput(FIELD, f"a {name} source is a path alone, without a host or parameters")
    # DuckDB reads these as a pattern, a list of files or an address.
    if driver != "sqlite" and re.search(r"[*?\[\]{}]|://", given):
        raise InvalidInput(FIELD, f"the path of a {name} source may not have any of * ? [ ] {{ }} or ://")
    if not rules.is_local:
        check_below(given, rules.folders, or_equal=driver in TABLE_FILES)
    return Address(driver, file=given)


def check_below(path: str, folders: tuple[Path, ...], *, or_equal: bool = False) -> None:
    """Refuse a path outside the folders. Only the text is checked, so the error does not tell which files exist; links
    are followed when the file is opened. `or_equal`: one of the folders itself is allowed too."""
    is_plain = path.startswith("/") and not path.startswith("//") and os.path.normpath(path) == path
    places = [*Path(path).parents, *([Path(path)] if or_equal else [])]
    if not is_plain or not any(folder in places for folder in folders):
        raise InvalidInput(
            FIELD,
            "is a file outside the folders that RECOLLECT_SOURCE_FOLDERS names; write its absolute path in one of them,"
            " or add it on the server with `recollect sources add`",
        )


def check_postgres(url: URL, rules: SourceRules) -> Address:
    free: tuple[str, ...] = LOCAL_PARAMETERS if rules.is_local else ()
    free += ENVIRONMENT_PARAMETERS if rules.environment else ()
    made = read_server(url, PARAMETERS, free)
    if "=" in made.database or "://" in made.database:
        raise InvalidInput(FIELD, "the database's name may not be a connection string")
    if not made.user and not rules.is_local:
        raise InvalidInput(FIELD, "must name the account, as in postgresql://reader@host/name")
    if not made.host or made.host.startswith(("/", "@")):
        return replace(made, host="", socket=check_socket(made.host, rules))
    return replace(made, host=check_reachable(made.host, rules.hosts))


def check_mysql(url: URL, rules: SourceRules) -> Address:
    """Return the address of a database on MySQL or MariaDB. PyMySQL would fill in an account and a host of its own."""
    made = read_server(url, MYSQL_PARAMETERS, MYSQL_LOCAL_PARAMETERS if rules.is_local else ())
    if not made.user or not made.database or not made.host:
        raise InvalidInput(FIELD, "must name the account, the host and the database, as in mysql://reader@host/name")
    if made.host.startswith("/"):
        check_socket(str(Path(made.host).parent), rules)
        return replace(made, host="", socket=made.host)
    return replace(made, host=check_reachable(made.host, rules.hosts))


def read_server(url: URL, listed: Mapping[str, str], free: Sequence[str]) -> Address:
    """Return the address of a server, whose host or socket is not yet checked. Host and port may be in the query, as
    libpq allows, but not in two places. Parameters are either listed with their values or free to have any value."""
    repeated = [key for key, values in url.normalized_query.items() if len(values) > 1]
    if repeated:
        raise InvalidInput(FIELD, f"gives the parameter {repeated[0][:40]!r} twice")
    given = {key: str(value) for key, value in url.query.items()}
    if ("host" in given and url.host) or ("port" in given and url.port is not None):
        raise InvalidInput(FIELD, "gives the host or the port twice")
    host, port = given.pop("host", url.host or ""), read_port(given.pop("port", url.port))
    check_parameters(given, listed, free)
    named = url.translate_connect_args(username="user")
    return Address(url.drivername, **{**named, "host": host, "port": port, "parameters": given})


def read_port(given: str | int | None) -> int | None:
    if given is None:
        return None
    if not re.fullmatch(r"[0-9]{1,5}", str(given)) or not 0 < int(given) < 65536:
        raise InvalidInput(FIELD, "the port must be one number from 1 to 65535")
    return int(given)


def check_parameters(given: Mapping[str, str], listed: Mapping[str, str], free: Sequence[str]) -> None:
    """Refuse a parameter that is neither listed with its value nor among those that may have any value."""
    for key, value in given.items():
        if key not in free and not (key in listed and re.fullmatch(listed[key], value)):
            wrong = "has a value that is not allowed" if key in listed else "is not allowed in an address"
            raise InvalidInput(FIELD, f"the parameter {key[:40]!r} {wrong}; allowed are {', '.join(listed)}")


def check_socket(folder: str, rules: SourceRules) -> str:
    """Return the folder of a Unix socket; empty for PostgreSQL's own."""
    if not rules.is_local and folder not in map(str, rules.sockets):
        raise InvalidInput(FIELD, "must name a host; sockets are allowed by RECOLLECT_SOURCE_SOCKETS only")
    if "," in folder:
        raise InvalidInput(FIELD, "names several hosts; name one")
    return folder


def check_reachable(host: str, rules: HostRules) -> str:
    """Return the host, unless the rules refuse it as it is written. A name is checked again with its addresses."""
    try:
        host = check_host(host)
    except ValueError as error:
        raise InvalidInput(FIELD, str(error)) from None
    address = parse_address(host)
    if address is not None and not is_allowed(address, host, rules):
        raise InvalidInput(
            FIELD,
            "the host's address is not allowed; loopback, private and link-local addresses are refused unless"
            " RECOLLECT_SOURCE_HOSTS or RECOLLECT_SOURCE_PRIVATE_HOSTS allows them",
        )
    return host
