"""Which hosts a data source may be on: allow and deny lists, and the kind of an IP address. Pure functions; names are
resolved in opening.py, which passes every address through `check_addresses` before anything is sent to it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Literal, TypeAlias

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


def read_host_list(text: str) -> HostList:
    """Return the list that a setting names, separated by commas; a ValueError says which entry cannot be read."""
    names: set[str] = set()
    networks: list[IpNetwork] = []
    for entry in (each.strip().lower() for each in text.split(",") if each.strip()):
        try:
            networks.append(ip_network(entry, strict=False))
        except ValueError:
            if not NAME.fullmatch(entry.removeprefix("*.")) or NUMERIC.fullmatch(entry):
                raise ValueError(f"{entry!r} is neither a host name, *.domain, an address nor a network") from None
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
    """Return the host as one name or address, or raise a ValueError that says what is wrong with it."""
    if "," in host:
        raise ValueError("names several hosts; name one")
    if "%" in host:
        raise ValueError("the host may not have a zone or percent-encoding")
    if parse_address(host) is not None:
        return host
    if NUMERIC.fullmatch(host.lower()):
        raise ValueError("the host is an address in an unusual form; write four decimal numbers")
    if not NAME.fullmatch(host.lower()):
        raise ValueError("the host is not a name or an address; write an international name as xn--")
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
class HostRules:
    """`allowed`, unless empty, lists all hosts that may be used; what it lists may be private. `denied` wins."""

    allowed: HostList = HostList()
    denied: HostList = HostList()
    private: bool = False  # loopback and private addresses may be used
    is_local: bool = False  # the operator's own address: only `denied` counts


def may_resolve(host: str, rules: HostRules) -> bool:
    """Return whether a name is worth looking up: otherwise no address that it has would be allowed."""
    if rules.denied.has_name(host):
        return False
    return rules.is_local or not rules.allowed or bool(rules.allowed.networks) or rules.allowed.has_name(host)


def is_allowed(address: IpAddress, host: str, rules: HostRules) -> bool:
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


def check_addresses(host: str, found: Sequence[str], rules: HostRules) -> tuple[str, ...]:
    """Return the addresses to connect to, in order, if every address of the host is allowed; otherwise none."""
    addresses = [parse_address(each) for each in found]
    if not all(address is not None and is_allowed(address, host, rules) for address in addresses):
        return ()
    return tuple(dict.fromkeys(str(address) for address in addresses))[:MOST_ADDRESSES]
