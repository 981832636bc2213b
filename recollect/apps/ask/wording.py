"""Wording: the answer in words, without a model: the figure, or the table, and what it is. Nothing is said that the
rows do not say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from recollect.apps.ask.question import Clarification
from recollect.apps.ask.sources.running import Rows
from recollect.values.text import is_cjk

SHOWN = 20  # rows in an answer's text
MOST_NAMES = 12
EMPTY = "The query was executed correctly, but returned no results."
EMPTY_ZH = "查询已正确执行，但没有返回结果。"


def answer_text(
    question: str, rows: Rows, explanation: str, *, markdown: bool = True, headers: Sequence[str] = ()
) -> str:
    explanation = explanation.rstrip(".。 ")
    if not rows.rows or all(value is None for row in rows.rows for value in row):
        return EMPTY_ZH if is_cjk(question) else EMPTY
    if len(rows.rows) == 1 and len(rows.columns) == 1:
        figure = format_cell(rows.rows[0][0])
        return f"{explanation}: **{figure}**" if markdown and explanation else f"{explanation}: {figure}".lstrip(": ")
    body = table(rows, headers, markdown=markdown, is_chinese=is_cjk(question))
    return f"{explanation}:\n\n{body}" if explanation else body


def table(
    rows: Rows, headers: Sequence[str] = (), *, markdown: bool = True, most: int = SHOWN, is_chinese: bool = False
) -> str:
    shown_rows = [[format_cell(value) for value in row] for row in rows.rows[:most]]
    cut = describe_row_count(rows, most, is_chinese=is_chinese)
    more = [cut] if cut else []
    if not markdown:
        return "\n".join([*("; ".join(row) for row in shown_rows), *more])
    head = [line(headers or rows.columns), line(["---"] * len(rows.columns))]
    body = [line(row) for row in shown_rows]
    return "\n".join([*head, *body, *([""] if more else []), *more])


def describe_row_count(rows: Rows, most: int | None = None, *, is_chinese: bool = False) -> str:
    """Return how many of all rows are shown, at most `most` of them; empty if all are."""
    count = len(rows.rows) if most is None else min(most, len(rows.rows))
    total = rows.total if rows.is_truncated else len(rows.rows)
    if total is None:
        return f"前 {count:,} 行；还有更多" if is_chinese else f"First {count:,} rows; there are more"
    if count >= total:
        return ""
    return f"共 {total:,} 行，显示 {count:,} 行" if is_chinese else f"{count:,} of {total:,} rows"


def line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def format_cell(value: Any) -> str:
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
    """Return the questions back, one bullet each, with their choices numbered below."""
    opening = "我需要先弄清楚：" if is_cjk(question) else "I need to know this first:"
    lines = [opening]
    for each in clarifications:
        some = f" ({', '.join(each.suggestions[:4])}?)" if each.suggestions and not each.choices else ""
        lines.append(f"- {each.question}{some}")
        lines += [f"  {n}. {choice.label}" for n, choice in enumerate(each.choices, 1)]
    return "\n".join(lines)


def explain_unclear(
    missing: Sequence[str], names: Sequence[str], question: str, *, is_too_long: bool = False
) -> str:  # fmt: skip
    """Return why there is no interpretation: the words not understood, and what the database offers."""
    offers = ", ".join(names[:MOST_NAMES])
    if is_cjk(question):
        problem = (
            "问题太长。" if is_too_long else f"不明白：{'、'.join(missing)}。" if missing else "无法理解这个问题。"
        )
        return f"{problem}可以询问：{offers}。连接语言模型后可以回答更多问题。"
    problem = "I could not interpret this question."
    if is_too_long:
        problem = "The question is too long to be interpreted without a language model."
    elif missing:
        problem = "I did not understand: " + ", ".join(f'"{word}"' for word in missing) + "."
    return f"{problem} This database has: {offers}. A connected language model can answer more."


def csv_text(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    import csv
    import io

    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(columns)
    writer.writerows(["" if value is None else value for value in row] for row in rows)
    return out.getvalue()
