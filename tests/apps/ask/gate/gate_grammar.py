"""Random queries over the shop in which names are confusing on purpose: aliases, CTEs and columns share a small pool of
words, some of them hidden, in many spellings."""

from __future__ import annotations

from random import Random

NAMES = ["email", "salary", "customers", "employees", "secrets", "c", "e", "id", "name", "region", "department"]
TEMPTING = ["email", "email", "salary", "id", "name"]  # what else a column may be called
VISIBLE = {"customers": ["id", "name", "region"], "employees": ["id", "name", "department"]}
DEEPEST = 3


def statement(chance: Random) -> str:
    return query(chance, 0, [])


def spelled(chance: Random, name: str) -> str:
    return chance.choice([name, name, name, name.upper(), f'"{name}"', f'"{name.title()}"', f'"{name.upper()}"'])


def name(chance: Random, known: list[str]) -> str:
    """A known column most of the time, so that a good part of the statements pass."""
    return spelled(chance, chance.choice(known if known and chance.random() < 0.85 else NAMES))


def query(chance: Random, depth: int, known: list[str]) -> str:
    ctes = [cte(chance, depth) for _ in range(chance.choice([0, 0, 0, 1, 2]))] if depth < DEEPEST else []
    prefix = f"WITH {', '.join(text for _, text in ctes)} " if ctes else ""
    body = select(chance, depth, known, [each for each, _ in ctes])
    if chance.random() < 0.1:
        body += f" UNION ALL {select(chance, depth + 1, known, [])}"
    return prefix + body


def cte(chance: Random, depth: int) -> tuple[str, str]:
    called = spelled(chance, chance.choice(NAMES))
    return called, f"{called} AS ({query(chance, depth + 1, [])})"


def select(chance: Random, depth: int, outer: list[str], ctes: list[str]) -> str:
    sources = [source(chance, depth, ctes) for _ in range(chance.choice([1, 1, 2]))]
    known = [f"{alias}.{each}" if chance.random() < 0.3 else each for _, alias, columns in sources for each in columns]
    listed = ", ".join(projection(chance, depth, known + outer) for _ in range(chance.randint(1, 3)))
    text = f"SELECT {listed} FROM {joined(chance, sources)}"
    for clause in (
        "WHERE {} IS NOT NULL",
        "GROUP BY {}",
        "HAVING max({}) IS NOT NULL",
        "ORDER BY {}",
        "ORDER BY lower({})",
    ):
        if chance.random() < 0.2 and not (clause.startswith("ORDER") and "ORDER" in text.rpartition("FROM")[2]):
            text += " " + clause.format(column(chance, known + outer))
    return text


def source(chance: Random, depth: int, ctes: list[str]) -> tuple[str, str, list[str]]:
    """Its text, its alias, and columns that it has."""
    alias = spelled(chance, chance.choice(NAMES))
    if depth < DEEPEST and chance.random() < 0.3:
        inside = chance.choice(TEMPTING)
        table, columns = chance.choice(list(VISIBLE.items()))
        return f"(SELECT {chance.choice(columns)} AS {inside} FROM {table}) AS {alias}", alias, [inside]
    if depth < DEEPEST and chance.random() < 0.15:
        return f"({query(chance, depth + 1, [])}) AS {alias}", alias, []
    if ctes and chance.random() < 0.6:
        return f"{chance.choice(ctes)} AS {alias}", alias, []
    table = chance.choice([*VISIBLE, *VISIBLE, *VISIBLE, "secrets"])
    written = spelled(chance, table)
    columns = VISIBLE.get(table, ["token"])
    return (written, written, columns) if chance.random() < 0.3 else (f"{written} AS {alias}", alias, columns)


def joined(chance: Random, sources: list[tuple[str, str, list[str]]]) -> str:
    texts = [text for text, _, _ in sources]
    shared = sorted(set.intersection(*(set(columns) for _, _, columns in sources))) if len(sources) > 1 else []
    if shared and chance.random() < 0.4:
        return f"{texts[0]} JOIN {texts[1]} USING ({chance.choice([*shared, 'email'])})"
    return ", ".join(texts)


def projection(chance: Random, depth: int, known: list[str]) -> str:
    kind = chance.random()
    if kind < 0.12:
        return "*"
    if kind < 0.3 and depth < DEEPEST:
        return f"({query(chance, depth + 1, known)} LIMIT 1) AS {chance.choice(TEMPTING)}"
    if kind < 0.4:
        return f"'x' AS {spelled(chance, chance.choice(TEMPTING))}"
    if kind < 0.45:
        return f"count(*) AS {chance.choice(TEMPTING)}"
    alias = f" AS {spelled(chance, chance.choice(TEMPTING))}" if chance.random() < 0.4 else ""
    return column(chance, known) + alias


def column(chance: Random, known: list[str]) -> str:
    if known and chance.random() < 0.6:
        return chance.choice(known)
    if chance.random() < 0.3:
        return spelled(chance, chance.choice(TEMPTING))
    plain = [each for each in known if "." not in each]
    return name(chance, plain) if chance.random() < 0.8 else f"{name(chance, NAMES)}.{name(chance, plain)}"
