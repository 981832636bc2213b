"""The rules for addresses of data sources, with plain values: nothing is opened or resolved here."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from psycopg import pq

from recollect.apps.ask.sources.address_rules import (
    LOCAL_RULES,
    PARAMETERS,
    Address,
    SourceRules,
    check_addresses,
    check_url,
    classify,
    is_allowed,
    may_resolve,
    parse_address,
    read_dsn,
    read_host_list,
    read_rules,
    rules_for,
)
from recollect.apps.ask.sources.opening import NEUTRAL, NOWHERE, list_keywords, make_parameters
from recollect.bootstrap import get_home
from recollect.errors import InvalidInput, InvalidSetting
from recollect.settings import Settings
from tests.apps.ask.hostile_addresses import REFUSED, every_keyword, every_mysql_keyword

FOLDER = Path("/srv/sources/shop")
NETWORK = SourceRules(folders=(FOLDER,))
PUBLIC = "postgresql://reader:pw@db.example.com/shop"


def fill(dsn: str) -> str:
    """An address of the list, as it is for FOLDER."""
    names = {"file": "/srv/sources/other/private.db", "folder": str(FOLDER), "port": "5432", "written": "/tmp/keys"}
    for name, value in names.items():
        dsn = dsn.replace(f"{{{name}}}", value)
    return dsn


def check(dsn: str, rules: SourceRules = NETWORK) -> Address:
    return check_url(read_dsn(dsn), rules)


def test_hostile_addresses_are_refused() -> None:
    def is_refused(dsn: str) -> bool:
        try:
            check(fill(dsn))
        except InvalidInput:
            return True
        return False

    assert [dsn for dsn in REFUSED if not is_refused(dsn)] == []


def test_the_list_has_every_keyword_of_libpq() -> None:
    assert len(every_keyword()) > 40
    assert len(every_mysql_keyword()) > 30
    assert len(REFUSED) > 100


@pytest.mark.parametrize(
    ("dsn", "address"),
    [
        (f"sqlite:///{FOLDER}/a.db", Address("sqlite", file=f"{FOLDER}/a.db")),
        (f"sqlite:///{FOLDER}/deep/a%20b.db", Address("sqlite", file=f"{FOLDER}/deep/a b.db")),
        (f"duckdb:///{FOLDER}/a.duckdb", Address("duckdb", file=f"{FOLDER}/a.duckdb")),
        (f"csv:///{FOLDER}", Address("csv", file=str(FOLDER))),
        (f"parquet:///{FOLDER}/deep/a.parquet", Address("parquet", file=f"{FOLDER}/deep/a.parquet")),
        (
            "mariadb://r:p@db.example.com:3307/d?sslmode=verify-full",
            Address("mysql+pymysql", "", "", "db.example.com", 3307, "r", "p", "d", {"sslmode": "verify-full"}),
        ),
        (PUBLIC, Address("postgresql+psycopg", "", "", "db.example.com", None, "reader", "pw", "shop")),
        ("postgres://r@8.8.8.8:6000/d", Address("postgresql+psycopg", "", "", "8.8.8.8", 6000, "r", "", "d")),
        (
            "postgresql://r:p@[2606:4700::1111]/d?sslmode=verify-full&sslrootcert=system",
            Address(
                "postgresql+psycopg",
                host="2606:4700::1111",
                user="r",
                password="p",
                database="d",
                parameters={"sslmode": "verify-full", "sslrootcert": "system"},
            ),
        ),
    ],
)
def test_usual_addresses_pass(dsn: str, address: Address) -> None:
    assert check(dsn) == address


def test_local_callers_may_use_files_hosts_and_sockets() -> None:
    for dsn in ("sqlite:///shop.db", "sqlite:////etc/x.db", "postgresql://u@127.0.0.1/d", "postgresql:///d"):
        check(dsn, LOCAL_RULES)
    assert check("mysql://u@/d?host=/run/mysqld/mysqld.sock", LOCAL_RULES).socket == "/run/mysqld/mysqld.sock"
    assert check("postgresql://u@/d?host=/tmp&options=-csearch_path%3Dx", LOCAL_RULES).socket == "/tmp"


@pytest.mark.parametrize("parameter", ["sslkeylogfile=/tmp/k", "passfile=/x", "service=x", "hostaddr=1.2.3.4"])
def test_local_callers_have_a_list_of_parameters_too(parameter: str) -> None:
    with pytest.raises(InvalidInput, match=parameter.partition("=")[0]):
        check(f"{PUBLIC}?{parameter}", LOCAL_RULES)


def test_a_deployment_may_allow_password_and_service_files() -> None:
    rules = rules_for(NETWORK, Settings(source_environment=True), "shop", local=True)
    assert check(f"{PUBLIC}?service=shop", rules).parameters == {"service": "shop"}
    with pytest.raises(InvalidInput, match="sslkeylogfile"):
        check(f"{PUBLIC}?sslkeylogfile=/tmp/k", rules)
    with pytest.raises(InvalidInput, match="service"):
        check(f"{PUBLIC}?service=shop", rules_for(NETWORK, Settings(source_environment=True), "shop", local=False))


# Hosts ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("8.8.8.8", "public"),
        ("2606:4700::1111", "public"),
        ("64:ff9b::8.8.8.8", "public"),
        ("127.0.0.1", "private"),
        ("10.1.2.3", "private"),
        ("100.64.0.1", "private"),
        ("::1", "private"),
        ("fd00::1", "private"),
        ("::ffff:10.0.0.1", "private"),
        ("64:ff9b::7f00:1", "private"),
        ("2002:7f00:1::", "private"),
        ("::127.0.0.1", "private"),
        ("169.254.169.254", "special"),
        ("fe80::1", "special"),
        ("0.0.0.0", "special"),
        ("::", "special"),
        ("224.0.0.1", "special"),
        ("ff0e::1", "special"),
        ("240.0.0.1", "special"),
        ("fec0::1", "special"),
        ("64:ff9b:1::1", "special"),
        ("192.0.2.1", "special"),
        ("2001:db8::1", "special"),
        ("2001:0:7f00:1::", "special"),
    ],
)
def test_addresses_are_classified(address: str, kind: str) -> None:
    assert classify(ip_address(address)) == kind


def test_every_address_of_a_name_must_be_allowed() -> None:
    rules = SourceRules()
    assert check_addresses("db.example.com", ["8.8.8.8", "2606:4700::1111"], rules) == ("8.8.8.8", "2606:4700::1111")
    assert check_addresses("db.example.com", ["8.8.8.8", "127.0.0.1"], rules) == ()
    assert check_addresses("db.example.com", ["::ffff:127.0.0.1"], rules) == ()
    assert check_addresses("db.example.com", ["fe80::1%eth0"], rules) == ()
    assert check_addresses("db.example.com", [], rules) == ()


def test_lists_allow_and_deny_hosts() -> None:
    allowed = read_host_list("db.internal, *.corp.example, 10.1.0.0/16, 169.254.7.7")
    rules = SourceRules(allowed, denied=read_host_list("10.1.9.0/24,bad.corp.example"))

    def allows(host: str, address: str) -> bool:
        found = parse_address(address)
        return found is not None and is_allowed(found, host, rules)

    assert allows("db.internal", "192.168.0.9")
    assert allows("DB.internal.", "127.0.0.1")
    assert allows("a.b.corp.example", "10.7.0.1")
    assert allows("10.1.2.3", "10.1.2.3")
    assert allows("anything.example", "10.1.2.3")
    assert allows("169.254.7.7", "169.254.7.7")
    assert not allows("10.1.9.1", "10.1.9.1")
    assert not allows("10.1.9.1", "::ffff:10.1.9.1")
    assert not allows("bad.corp.example", "10.1.2.3")
    assert not allows("corp.example", "10.7.0.1")
    assert not allows("evilcorp.example", "10.7.0.1")
    assert not allows("db.internal", "169.254.169.254")
    assert not allows("other.example", "8.8.8.8")


def test_a_name_that_no_list_can_allow_is_not_looked_up() -> None:
    named = SourceRules(read_host_list("db.internal"), read_host_list("bad.example"))
    assert may_resolve("db.internal", named)
    assert not may_resolve("other.example", named)
    assert not may_resolve("bad.example", replace(named, is_local=True))


def test_private_hosts_may_be_allowed_but_not_link_local_ones() -> None:
    rules = replace(NETWORK, private=True)
    for host in ("127.0.0.1", "10.0.0.1", "[::1]"):
        check(f"postgresql://u@{host}/d", rules)
    for host in ("169.254.169.254", "0.0.0.0", "[fe80::1]"):
        with pytest.raises(InvalidInput):
            check(f"postgresql://u@{host}/d", rules)


# Settings ------------------------------------------------------------------------------------------------------------


def test_the_default_folders_are_the_sample_and_the_uploads_of_the_project() -> None:
    rules = rules_for(read_rules(Settings(), Path("/home/r")), Settings(), "shop", local=False)
    assert rules.folders == (Path("/home/r/sample"), Path("/home/r/uploads/shop"))


def test_the_default_folders_are_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    settings = Settings(home="deep/../home")
    assert read_rules(settings, get_home(settings)).folders[0] == tmp_path.resolve() / "home" / "sample"


@pytest.mark.parametrize("project", ["..", ".", "a/../../b", "/etc"])
def test_a_projects_name_cannot_lead_out_of_the_folder(project: str) -> None:
    rules = rules_for(read_rules(Settings(), Path("/home/r")), Settings(), project, local=False)
    assert rules.folders == (Path("/home/r/sample"),)


def test_folders_may_be_shared_or_per_project() -> None:
    settings = Settings(source_folders="/data/{project}/db:/shared/")
    rules = rules_for(read_rules(settings, Path("/h")), settings, "shop", local=False)
    check("sqlite:////data/shop/db/a.db", rules)
    check("sqlite:////shared/a.db", rules)
    with pytest.raises(InvalidInput, match="RECOLLECT_SOURCE_FOLDERS"):
        check("sqlite:////data/farm/db/a.db", rules)


def test_local_callers_can_be_held_to_the_rules_of_the_network() -> None:
    settings = Settings(source_local=False)
    rules = rules_for(read_rules(settings, Path("/h")), settings, "shop", local=True)
    with pytest.raises(InvalidInput):
        check("sqlite:////etc/x.db", rules)


def test_a_socket_may_be_allowed() -> None:
    settings = Settings(source_sockets="/run/shop")
    rules = rules_for(read_rules(settings, Path("/h")), settings, "shop", local=False)
    assert check("postgresql://u@/d?host=/run/shop", rules).socket == "/run/shop"
    for folder in ("/run", "/run/shop/..", "/run/shop,/tmp", "/run/shop/"):
        with pytest.raises(InvalidInput):
            check(f"postgresql://u@/d?host={folder}", rules)


@pytest.mark.parametrize(
    ("given", "variable"),
    [
        ({"source_folders": "data"}, "RECOLLECT_SOURCE_FOLDERS"),
        ({"source_sockets": "run"}, "RECOLLECT_SOURCE_SOCKETS"),
        ({"source_hosts": "10.0.0.0/99"}, "RECOLLECT_SOURCE_HOSTS"),
        ({"source_hosts": "127.1"}, "RECOLLECT_SOURCE_HOSTS"),
        ({"source_denied_hosts": "a b"}, "RECOLLECT_SOURCE_DENIED_HOSTS"),
    ],
)
def test_a_wrong_setting_is_named(given: dict[str, Any], variable: str) -> None:
    with pytest.raises(InvalidSetting, match=variable):
        read_rules(Settings(**given), Path("/h"))


# What libpq is given --------------------------------------------------------------------------------------------------


def test_everything_that_libpq_takes_from_its_surroundings_is_set() -> None:
    """A new libpq with a new keyword fails here: decide what it may be."""
    from_environment = {each.keyword.decode() for each in pq.Conninfo.get_defaults() if each.envvar}
    assert from_environment - {"service"} <= set(NEUTRAL)
    given = make_parameters(check(PUBLIC), ("8.8.8.8",), NETWORK)
    assert from_environment - {"service"} <= set(given)
    assert given["passfile"] == given["sslcert"] == NOWHERE
    assert set(PARAMETERS) <= list_keywords()


def test_the_checked_addresses_are_connected_to() -> None:
    given = make_parameters(check(PUBLIC), ("8.8.8.8", "2606:4700::1111"), NETWORK)
    assert given["hostaddr"] == "8.8.8.8,2606:4700::1111"
    assert given["host"] == "db.example.com,db.example.com"


def test_with_the_environment_only_what_is_given_is_set() -> None:
    rules = replace(LOCAL_RULES, environment=True)
    given = make_parameters(check("postgresql:///shop?service=x", rules), (), rules)
    assert given == {"dbname": "shop", "service": "x", "application_name": "recollect", "connect_timeout": "10"}
