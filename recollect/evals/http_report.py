"""What the HTTP bench found: figures of each way and number of clients, how they compare, and what a soak left behind.
Filled by bench_http.py, shown by the command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from recollect.evals.http_load import Ran

LIMIT = 1.5  # CPU ms that HTTP may add
ROUTE, VERB, HTTP = "bare route, SELECT 1", "context, in process", "context over HTTP"


@dataclass(frozen=True, slots=True)
class Round:
    """CPU milliseconds per request, and how it went."""

    cpu: float
    postgres: float  # of `cpu`
    client: float
    rate: float  # requests a second
    p50: float
    p95: float
    failed: int


@dataclass(frozen=True, slots=True)
class Figure:
    what: str
    clients: int
    best: Round
    most: float  # CPU ms of the dearest round
    failed: int


@dataclass(frozen=True, slots=True)
class Held:
    """What the server holds when nobody asks it anything."""

    resident_mb: float
    descriptors: int  # beside those of its database connections
    connections: int  # to the database, of everybody


@dataclass(frozen=True, slots=True)
class Soak:
    seconds: float
    requests: int
    failed: int
    problems: Sequence[str]  # the first of them
    rate: float
    p50: float
    p95: float
    before: Held
    after: Held


@dataclass(frozen=True, slots=True)
class Compared:
    clients: int
    added: float  # CPU ms that HTTP adds to the verb
    beside_bare: float  # times the bare route
    limit: float = LIMIT


@dataclass(frozen=True, slots=True)
class HttpReport:
    figures: Sequence[Figure] = ()
    soak: Soak | None = None

    @property
    def failed(self) -> int:
        return sum(figure.failed for figure in self.figures) + (self.soak.failed if self.soak else 0)

    @property
    def compared(self) -> list[Compared]:
        cpu = {(figure.what, figure.clients): figure.best.cpu for figure in self.figures}
        return [
            Compared(many, cpu[HTTP, many] - cpu[VERB, many], cpu[HTTP, many] / cpu[ROUTE, many])
            for many in dict.fromkeys(figure.clients for figure in self.figures)
        ]

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "compared": [asdict(each) for each in self.compared]}

    def rows(self) -> list[tuple[str, ...]]:
        """(what, clients, CPU, of it PostgreSQL, clients' CPU, requests/s, p50, p95, failed) for a table."""
        return [_row(figure) for figure in self.figures]


def _row(figure: Figure) -> tuple[str, ...]:
    best = figure.best
    return (
        figure.what,
        str(figure.clients),
        f"{best.cpu:.2f} to {figure.most:.2f}",
        f"{best.postgres:.2f}",
        f"{best.client:.2f}",
        f"{best.rate:,.0f}",
        f"{best.p50:.1f}",
        f"{best.p95:.1f}",
        str(figure.failed),
    )


def made(ran: Ran, process: float, postgres: float, client: float) -> Round:
    each = 1000 / ran.requests
    rate = ran.requests / ran.seconds
    cpu = (process + postgres) * each
    return Round(
        cpu, postgres * each, client * each, rate, ran.percentile(0.5), ran.percentile(0.95), len(ran.problems)
    )


def figure(what: str, clients: int, rounds: Sequence[Round]) -> Figure:
    best = min(rounds, key=lambda each: each.cpu)
    most = max(each.cpu for each in rounds)
    return Figure(what, clients, best, most, sum(each.failed for each in rounds))
