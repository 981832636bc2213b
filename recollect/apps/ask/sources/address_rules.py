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
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

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


# Hosts ----------------------------------------------------------------------------------------------------------------

IpAddress: TypeAlias = IPv4Address | IPv6Address
IpNetwork: TypeAlias = IPv4Network | IPv6Network
Kind = Literal["public", "private", "special"]

MOST_ADDRESSES = 4  # of one name that are tried
# ASCII only: other letters may turn into digits and dots when a name is looked up.
NAME = re.compile(r"(?=.{1,253}\Z)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*\.?")
# What C libraries read as an IPv4 address, in fewer parts, octal or hexadecimal.
NUMERIC = re.compile(r"(0x[0-9a-f]*|[0-9]+)(\.(0x[0-9a-f]*|[0-9]+))*\.?")
PRIVATE_NETWORKS = "127.0.0.0/8 10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 100.64.0.0/10 ::1/128 fc00::/7"
PRIVATE: tuple[IpNetwork, ...] = tuple(map(ip_network, PRIVATE_NETWORKS.split()))
# IPv6 that a gateway turns into the IPv4 address of its last bytes.
TRANSLATED = IPv6Network("64:ff9b::/96")
COMPATIBLE = IPv6Network("::/96")


@dataclass(frozen=True, slots=True)
class HostList:
    """Names, `*.` patterns of names, and networks."""

    names: frozenset[str] = frozenset()
    networks: tuple[IpNetwork, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.names or self.networks)

    def has_name(self, host: str) -> bool:
        name = host.lower().rstrip(".")
        parts = name.split(".")
        patterns = {"*." + ".".join(parts[start:]) for start in range(1, len(parts))}
        return not self.names.isdisjoint({name, *patterns})

    def has_address(self, address: IpAddress) -> bool:
        return any(address in network for network in self.networks)


def read_host_list(text: str, variable: str = "") -> HostList:
    """Return the list that a setting names, separated by commas."""
    names: set[str] = set()
    networks: list[IpNetwork] = []
    for entry in (each.strip().lower() for each in text.split(",") if each.strip()):
        try:
            networks.append(ip_network(entry, strict=False))
        except ValueError:
            if not NAME.fullmatch(entry.removeprefix("*.")) or NUMERIC.fullmatch(entry):
                problem = f"{entry!r} is neither a host name, *.domain, an address nor a network"
                raise InvalidSetting(variable, problem) from None
            names.add(entry.rstrip("."))
    return HostList(frozenset(names), tuple(networks))


def parse_address(host: str) -> IpAddress | None:
    """Return the IP address that a host is written as, or None for a name. IPv4 inside IPv6 is the IPv4 address."""
    try:
        address = ip_address(host)
    except ValueError:
        return None
    return address.ipv4_mapped or address if isinstance(address, IPv6Address) else address


def check_host(host: str) -> str:
    """Return the host as one name or address, or raise an InvalidInput that says what is wrong with it."""
    if "," in host:
        raise InvalidInput(FIELD, "names several hosts; name one")
    if "%" in host:
        raise InvalidInput(FIELD, "the host may not have a zone or percent-encoding")
    if parse_address(host) is not None:
        return host
    if NUMERIC.fullmatch(host.lower()):
        raise InvalidInput(FIELD, "the host is an address in an unusual form; write four decimal numbers")
    if not NAME.fullmatch(host.lower()):
        raise InvalidInput(FIELD, "the host is not a name or an address; write an international name as xn--")
    return host.lower()


def classify(address: IpAddress) -> Kind:
    """Return "private" for loopback and private networks, "special" for what no database is at (link-local, multicast,
    unspecified, reserved, documentation), otherwise "public"."""
    inner = find_inner(address)
    if inner is not None:
        return classify(inner)
    if any(address in network for network in PRIVATE):
        return "private"
    is_site_local = isinstance(address, IPv6Address) and address.is_site_local
    odd = (address.is_multicast, address.is_link_local, address.is_reserved, address.is_unspecified, is_site_local)
    return "public" if address.is_global and not any(odd) else "special"


def find_inner(address: IpAddress) -> IPv4Address | None:
    """Return the IPv4 address that packets to an IPv6 address may end up at."""
    if isinstance(address, IPv4Address):
        return None
    if address in TRANSLATED or (address in COMPATIBLE and int(address) > 1):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour


@dataclass(frozen=True, slots=True)
class SourceRules:
    """What the settings allow one caller. `allowed`, unless empty, lists all hosts that may be used; what it lists may
    be private. `denied` wins. The default allows a network caller public hosts and no files."""

    allowed: HostList = HostList()
    denied: HostList = HostList()
    private: bool = False  # loopback and private addresses may be used
    is_local: bool = False  # the operator's own addresses: only `denied` counts
    folders: tuple[Path, ...] = ()
    sockets: tuple[Path, ...] = ()
    environment: bool = False  # libpq may use PG* variables, password and service files
    same_server: bool = False  # other databases of Recollect's own server may be sources


LOCAL_RULES = SourceRules(is_local=True)


def may_resolve(host: str, rules: SourceRules) -> bool:
    """Return whether a name is worth looking up: otherwise no address that it has would be allowed."""
    if rules.denied.has_name(host):
        return False
    return rules.is_local or not rules.allowed or bool(rules.allowed.networks) or rules.allowed.has_name(host)


def is_allowed(address: IpAddress, host: str, rules: SourceRules) -> bool:
    """Return whether a host may be connected to at this address. Special addresses must be listed as a network: a name
    on the list may come to point at them."""
    inner = find_inner(address)
    forms = (address,) if inner is None else (address, inner)
    if rules.denied.has_name(host) or any(map(rules.denied.has_address, forms)):
        return False
    if rules.is_local or all(map(rules.allowed.has_address, forms)):
        return True
    kind = classify(address)
    if kind == "special":
        return False
    if rules.allowed:
        return rules.allowed.has_name(host)
    return kind == "public" or rules.private


def check_addresses(host: str, found: Sequence[str], rules: SourceRules) -> tuple[str, ...]:
    """Return the addresses to connect to, in order, if every address of the host is allowed; otherwise none."""
    addresses = [parse_address(each) for each in found]
    if not all(address is not None and is_allowed(address, host, rules) for address in addresses):
        return ()
    return tuple(dict.fromkeys(str(address) for address in addresses))[:MOST_ADDRESSES]


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
        allowed=read_host_list(settings.source_hosts, "RECOLLECT_SOURCE_HOSTS"),
        denied=read_host_list(settings.source_denied_hosts, "RECOLLECT_SOURCE_DENIED_HOSTS"),
        private=settings.source_private_hosts,
        folders=(home / "sample", *(named or (home / "uploads" / PROJECT,))),
        sockets=read_folders("RECOLLECT_SOURCE_SOCKETS", settings.source_sockets),
        same_server=settings.source_same_server,
    )


def read_folders(variable: str, text: str) -> tuple[Path, ...]:
    found = tuple(Path(os.path.normpath(each)) for each in text.split(os.pathsep) if each)
    for folder in found:
        if not folder.is_absolute():
            raise InvalidSetting(variable, f"{str(folder)!r} is not an absolute path")
    return found


def rules_for(rules: SourceRules, settings: Settings, project: str, *, local: bool) -> SourceRules:
    """Return the rules for one caller: a local one, if the settings trust local callers, or one of a project."""
    if local and settings.source_local:
        return replace(rules, is_local=True, environment=settings.source_environment)
    # A project that is called ".." or "a/b" has no folder of its own.
    is_plain = project not in ("", ".", "..") and "/" not in project and "\0" not in project
    folders = [folder for folder in rules.folders if is_plain or PROJECT not in str(folder)]
    return replace(rules, folders=tuple(Path(str(folder).replace(PROJECT, project)) for folder in folders))


# Addresses ------------------------------------------------------------------------------------------------------------


def read_dsn(dsn: str) -> URL:
    """Return the address as a URL with the driver chosen. `${NAME}` is taken from the environment, so that a password
    need not be stored with the address. Errors show the address without its password."""
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    def fill(match: re.Match[str]) -> str:
        if match[1] not in os.environ:
            raise InvalidInput(FIELD, f"names ${{{match[1]}}}, which is not set in the environment")
        return os.environ[match[1]]

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
    checks = {POSTGRES: check_postgres, MYSQL: check_mysql, **dict.fromkeys(FILES, check_file)}
    if url.drivername in checks:
        return checks[url.drivername](url, rules)
    if not rules.is_local:
        raise InvalidInput(
            FIELD,
            "names a driver that is not allowed; write sqlite:///file, duckdb:///file, csv:///file, parquet:///file,"
            " postgresql:// or mysql://",
        )
    return Address(url.drivername)  # SQLAlchemy opens the address of a local caller as it is


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
    return replace(made, host=check_reachable(made.host, rules))


def check_mysql(url: URL, rules: SourceRules) -> Address:
    """Return the address of a database on MySQL or MariaDB. PyMySQL would fill in an account and a host of its own."""
    made = read_server(url, MYSQL_PARAMETERS, MYSQL_LOCAL_PARAMETERS if rules.is_local else ())
    if not made.user or not made.database or not made.host:
        raise InvalidInput(FIELD, "must name the account, the host and the database, as in mysql://reader@host/name")
    if made.host.startswith("/"):
        check_socket(str(Path(made.host).parent), rules)
        return replace(made, host="", socket=made.host)
    return replace(made, host=check_reachable(made.host, rules))


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


def check_reachable(host: str, rules: SourceRules) -> str:
    """Return the host, unless the rules refuse it as it is written. A name is checked again with its addresses."""
    host = check_host(host)
    address = parse_address(host)
    if address is not None and not is_allowed(address, host, rules):
        raise InvalidInput(
            FIELD,
            "the host's address is not allowed; loopback, private and link-local addresses are refused unless"
            " RECOLLECT_SOURCE_HOSTS or RECOLLECT_SOURCE_PRIVATE_HOSTS allows them",
        )
    return host
