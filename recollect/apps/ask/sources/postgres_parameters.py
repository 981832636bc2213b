"""The parameters that a PostgreSQL source is connected with. Every keyword that libpq would otherwise take from the
environment, a password file or a certificate in the home folder is set, so that nothing of the server's user goes to
the host. Pure, apart from asking libpq which keywords it knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from recollect.apps.ask.sources.address_rules import Address, SourceRules

CONNECT_SECONDS = 10
NOWHERE = "/dev/null/none"  # no file can be there; an empty name would mean the one in the home folder
# An empty value counts as given: libpq does not look further. `service` cannot be emptied, but a service file only
# fills in what is not given.
NEUTRAL: Mapping[str, str] = {
    "user": "",
    "password": "",
    "passfile": NOWHERE,
    "channel_binding": "prefer",
    "connect_timeout": str(CONNECT_SECONDS),
    "dbname": "",
    "host": "",
    "hostaddr": "",
    "port": "5432",
    "client_encoding": "",
    "options": "",
    "application_name": "recollect",
    "sslmode": "prefer",
    "sslnegotiation": "postgres",
    "sslcompression": "0",
    "sslcert": NOWHERE,
    "sslkey": "",
    "sslcertmode": "disable",
    "sslrootcert": "",
    "sslcrl": "",
    "sslcrldir": "",
    "sslsni": "1",
    "requirepeer": "",
    "require_auth": "scram-sha-256,md5,password,none",
    "min_protocol_version": "3.0",
    "max_protocol_version": "3.0",
    "ssl_min_protocol_version": "TLSv1.2",
    "ssl_max_protocol_version": "",
    "gssencmode": "disable",
    "krbsrvname": "postgres",
    "gsslib": "",
    "gssdelegation": "0",
    "target_session_attrs": "any",
    "load_balance_hosts": "disable",
}


@cache
def known_keywords() -> frozenset[str]:
    """Return the keywords of the libpq that is loaded; an older one refuses those it does not know."""
    from psycopg import pq

    return frozenset(option.keyword.decode() for option in pq.Conninfo.get_defaults())


def libpq_parameters(address: Address, addresses: Sequence[str], rules: SourceRules) -> dict[str, str]:
    """Return what libpq is given for an address whose host has these checked addresses."""
    given = {
        "user": address.user,
        "password": address.password,
        "dbname": address.database or address.user,
        # One name for each address: libpq tries them in order and never looks the name up.
        "host": ",".join([address.host] * len(addresses)) if addresses else address.socket,
        "hostaddr": ",".join(addresses),
        "port": "" if address.port is None else str(address.port),
        "application_name": "recollect",
        **address.parameters,
    }
    if "sslcert" in address.parameters:
        given["sslcertmode"] = "allow"
    if rules.environment:
        used = {"connect_timeout": str(CONNECT_SECONDS)} | given
    else:
        used = {**NEUTRAL, **{key: value for key, value in given.items() if value}}
    return {key: value for key, value in used.items() if key in known_keywords() and (value or not rules.environment)}
