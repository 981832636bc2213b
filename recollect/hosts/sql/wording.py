"""Wording: the answer in words, without a model: the figure, or the table, and what it is. Nothing is said that the
rows do not say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from recollect.hosts.sql.running import Rows
from recollect.model.text import is_cjk
from recollect.sql.reading import Clarification

SHOWN = 20  # rows in an answer's text
EMPTY = "The query was executed correctly, but returned no results."
EMPTY_ZH = "查询已正确执行，但没有返回结果。"


def answer_text(question: str, rows: Rows, explanation: str, *, markdown: bool = True) -> str:
    explanation = explanation.rstrip(".。 ")
    if not rows.rows or all(value is None for row in rows.rows for value in row):
        return EMPTY_ZH if is_cjk(question) else EMPTY
    if len(rows.rows) == 1 and len(rows.columns) == 1:
        figure = shown(rows.rows[0][0])
        return f"{explanation}: **{figure}**" if markdown and explanation else f"{explanation}: {figure}".lstrip(": ")
    body = table(rows, markdown=markdown)
    return f"{explanation}:\n\n{body}" if explanation else body


def table(rows: Rows, *, markdown: bool = True, most: int = SHOWN) -> str:
    shown_rows = [[shown(value) for value in row] for row in rows.rows[:most]]
    left = len(rows.rows) - len(shown_rows)
    more = [f"… and {left:,} more rows"] if left > 0 or rows.is_truncated else []
    if not markdown:
        return "\n".join([*("; ".join(row) for row in shown_rows), *more])
    head = [line(rows.columns), line(["---"] * len(rows.columns))]
    body = [line(row) for row in shown_rows]
    return "\n".join([*head, *body, *([""] if more else []), *more])


def line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def shown(value: Any) -> str:
    """A value as a person writes it; a year stays a year."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return str(value) if 1000 <= value <= 9999 else f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.2f}" if abs(value) >= 1 or value == 0 else f"{value:.4g}"
    return str(value)


def asked_back(clarifications: Sequence[Clarification], question: str) -> str:
    """The questions back, one bullet each."""
    opening = "我需要先弄清楚：" if is_cjk(question) else "I need to know this first:"
    return "\n".join([opening, *(f"- {bullet(each)}" for each in clarifications)])


def bullet(each: Clarification) -> str:
    some = f" ({', '.join(each.suggestions[:4])}?)" if each.suggestions else ""
    return f"{each.question}{some}"


def csv_text(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    import csv
    import io

    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(columns)
    writer.writerows(["" if value is None else value for value in row] for row in rows)
    return out.getvalue()
