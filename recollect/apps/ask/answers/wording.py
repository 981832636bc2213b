"""Wording without a model: answers, questions back, titles, headers of columns, and CSV. Pure.

`word_rows_plainly` gives the figure or the table and what it is; nothing is said that the rows do not say.
`describe_columns` names columns: a frame has the words of its groups and figures; of any other statement the names of
its columns are written as words.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from recollect.apps.ask.interpret import Frame
from recollect.apps.ask.interpret.explain import ENGLISH, Wording, group_words, metric_words, singular
from recollect.apps.ask.interpret.frame import Ref
from recollect.apps.ask.interpret.index import SchemaIndex
from recollect.apps.ask.question import Assumption, Clarification
from recollect.apps.ask.sources.running import Rows
from recollect.apps.ask.words import is_chinese, split_name
from recollect.values.text import is_cjk, shorten

TEXT_ROWS = 20  # in an answer's text
MAX_NAMES = 12
EMPTY = "The query was executed correctly, but returned no results."
EMPTY_ZH = "查询已正确执行，但没有返回结果。"
# Sentences in English and Chinese.
WORDS: Mapping[str, tuple[str, str]] = {
    "empty": (EMPTY, EMPTY_ZH),
    "more": ("First {:,} rows; there are more", "前 {:,} 行；还有更多"),
    "some": ("{0:,} of {1:,} rows", "共 {1:,} 行，显示 {0:,} 行"),
    "first": ("I need to know this first:", "我需要先弄清楚："),
    "quoted": ('"{}"', "“{}”"),
    "comma": (", ", "、"),
    "without": ("{} (without {})", "{}（不考虑{}）"),
    "unknown": ('"{}" is not known here. ', "不明白“{}”。"),
    "unfit": ('"{}" is known as "{}" ({}), but no column fits that. ', "“{}”的含义是“{}”，但没有对应的列。"),
    "absent": ("There is {}. ", ""),
    "which": ("Which of these do you mean?", "您指的是哪一个？"),
    "unclear": ("I could not interpret this question.", "无法理解这个问题。"),
    "too long": ("The question is too long to be interpreted without a language model.", "问题太长。"),
    "missing": ("I did not understand: {}.", "不明白：{}。"),
    "offers": (
        "{} This database has: {}. A connected language model can answer more.",
        "{}可以询问：{}。连接语言模型后可以回答更多问题。",
    ),
    "running": ("{} is not over yet: its figures are until {}", "{} 尚未结束：数据截至 {}"),
}
CALL = re.compile(r"(count|sum|avg|min|max)\((distinct )?(.+)\)", re.IGNORECASE)
PLAIN_NAME = re.compile(r"[\w .\"`\[\]]+")
TITLE_CHARS = 200
BYTE_ORDER_MARK = "\ufeff"  # without it, Excel does not read UTF-8
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
NUMBER = re.compile(r"[-+]?\d+(\.\d+)?([eE][-+]?\d+)?")
FILE_NAME_CHARS = 60
WEEKDAYS = (
    ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"),
    ("星期日", "星期一", "星期二", "星期三", "星期四", "星期五", "星期六"),
)


def choose_words(question: str) -> Mapping[str, str]:
    """Return the sentences in the language of a question."""
    return {name: texts[is_cjk(question)] for name, texts in WORDS.items()}


def word_rows_plainly(
    question: str, rows: Rows, explanation: str, *, markdown: bool = True, headers: Sequence[str] = ()
) -> str:
    """Return the figure, or the table, with what it is."""
    explanation = explanation.rstrip(".。 ")
    if all(value is None for row in rows.rows for value in row):
        return choose_words(question)["empty"]
    if len(rows.rows) == len(rows.columns) == 1:
        figure = format_cell(rows.rows[0][0])
        return f"{explanation}: {'**' * markdown}{figure}{'**' * markdown}" if explanation else figure
    lines = write_rows(rows, headers or rows.columns, question, markdown=markdown)
    return "\n".join([f"{explanation}:\n", *lines] if explanation else lines)


def write_rows(rows: Rows, headers: Sequence[str], question: str, *, markdown: bool) -> list[str]:
    """Return the lines of the first rows, and of how many there are if they are not all."""
    cells = [list(map(format_cell, row)) for row in rows.rows[:TEXT_ROWS]]
    lines = write_table(headers, cells) if markdown else list(map("; ".join, cells))
    count = describe_row_count(rows, TEXT_ROWS, question)
    return [*lines, *([""] if markdown else []), count] if count else lines


def write_table(headers: Sequence[str], cells: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    escaped = [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in (headers, *cells)]
    escaped.insert(1, ["---"] * len(headers))
    return [f"| {' | '.join(row)} |" for row in escaped]


def describe_row_count(rows: Rows, most: int | None = None, question: str = "") -> str:
    """Return how many of all rows are shown, at most `most` of them; empty if all are."""
    words, count = choose_words(question), len(rows.rows[:most])
    total = rows.total if rows.is_truncated else len(rows.rows)
    if total is None:
        return words["more"].format(count)
    return words["some"].format(count, total) if count < total else ""


def format_cell(value: Any) -> str:
    """Return a value as a person writes it; a year stays a year."""
    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case int():
            return str(value) if 1000 <= value <= 9999 else f"{value:,}"
        case float():
            return f"{value:,.2f}" if abs(value) >= 1 or value == 0 else f"{value:.4g}"
    return str(value)


def ask_back(clarifications: Sequence[Clarification], question: str) -> str:
    """Return the questions back, one bullet each, with their choices numbered below."""
    lines = [choose_words(question)["first"]]
    for each in clarifications:
        some = f" ({', '.join(each.suggestions[:4])}?)" if each.suggestions and not each.choices else ""
        lines.append(f"- {each.question}{some}")
        lines += [f"  {n}. {choice.label}" for n, choice in enumerate(each.choices, 1)]
    return "\n".join(lines)


def quote_words(said: Sequence[str], question: str) -> str:
    words = choose_words(question)
    return words["comma"].join(words["quoted"].format(each) for each in dict.fromkeys(said))


def name_left_out(label: str, left_out: Sequence[str], question: str) -> str:
    """Return the label of a choice with the words of the question that it leaves out."""
    quoted = quote_words(left_out, question)
    return choose_words(question)["without"].format(label, quoted) if quoted else label


def word_question(term: str, known: Assumption | None, question: str, absent: Sequence[str] = ()) -> str:
    """Return the question that stands above the choices. `absent` says which values the data do not have."""
    words = choose_words(question)
    parts = [words["absent"].format(each) for each in absent]
    if known and term:
        parts.append(words["unfit"].format(term, known.meaning, known.source))
    elif term:
        parts.append(words["unknown"].format(term))
    return "".join((*parts, words["which"]))


def explain_unclear(
    missing: Sequence[str], names: Sequence[str], question: str, *, is_too_long: bool = False
) -> str:  # fmt: skip
    """Return why there is no interpretation: the words not understood, and what the database offers."""
    words = choose_words(question)
    problem = words["too long"] if is_too_long else words["unclear"]
    if missing:
        problem = words["missing"].format(quote_words(missing, question))
    return words["offers"].format(problem, ", ".join(names[:MAX_NAMES]))


# Days and running periods --------------------------------------------------------------------------------------------


def name_weekdays(rows: Rows, frame: Frame | None, question: str) -> Rows:
    """Return the rows with the names of weekdays in place of their numbers, which count from Sunday."""
    if "weekday" not in rows.columns or "weekday" not in list_grains(frame):
        return rows
    names, at = WEEKDAYS[is_chinese(question)], rows.columns.index("weekday")
    by_number = {str(n): name for n, name in enumerate(names)}
    made = [(*row[:at], by_number.get(str(row[at]), row[at]), *row[at + 1 :]) for row in rows.rows]
    return replace(rows, rows=type(rows.rows)(made))


def note_running_periods(rows: Rows, frame: Frame | None, today: date, question: str) -> list[str]:
    """Return a note for each period among the groups, or among those compared, that is not over yet."""
    periods = frame.periods if frame else ()
    compared = [ends for period in periods if period.others for ends in period.ranges]
    labels = list_running_groups(rows, frame, today)
    labels = labels or [f"{start} – {end}" for start, end in compared if (start or "~") <= f"{today}" < (end or "")]
    return [choose_words(question)["running"].format(label, today) for label in labels]


def list_running_groups(rows: Rows, frame: Frame | None, today: date) -> list[str]:
    """Return the groups of rows that are the current year, quarter, month or week."""
    quarter = f"{today.year}-Q{(today.month + 2) // 3}"
    current = {"year": f"{today.year}", "quarter": quarter, "month": f"{today:%Y-%m}", "week": f"{today:%Y-%W}"}
    cells = dict(zip(rows.columns, zip(*rows.rows, strict=True), strict=False))
    units = [grain for grain in list_grains(frame) if grain in current]
    running = [current[unit] for unit in units if current[unit] in map(str, cells.get(unit, ()))]
    return running[:1]


def list_grains(frame: Frame | None) -> list[str]:
    """Return the units of time by which the rows of a frame are grouped."""
    return [group.grain for group in frame.groups if group.grain] if frame else []


# Titles and headers --------------------------------------------------------------------------------------------------


def make_title(question: str, frame_label: str = "") -> str:
    """Return what an answer shows: the words of its frame, else the question."""
    return shorten(frame_label or question.strip().rstrip("?？.。! "), TITLE_CHARS)


def describe_columns(
    columns: Sequence[str], frame: Frame | None = None, index: SchemaIndex | None = None, question: str = ""
) -> tuple[str, ...]:
    """Return a header in words for each column of a result, no two alike."""
    plain = [write_name(column) for column in columns]
    made = describe_frame_columns(frame, index, question) if frame is not None and index is not None else plain
    if len(made) != len(columns):
        made = plain
    return tuple(
        header if made.count(header) == 1 else plain[n] if plain.count(plain[n]) == 1 else f"{header} ({columns[n]})"
        for n, header in enumerate(made)
    )


def describe_frame_columns(frame: Frame, index: SchemaIndex, question: str) -> list[str]:
    """Return the headers of a frame's statement, in the order in which render.py writes its columns."""
    wording = Wording(index, "zh" if is_chinese(question) else "en")
    headers = [header for ref in frame.columns for header in name_ref(ref, wording)]
    if frame.metrics or frame.having:
        headers += name_groups(frame, wording)
    elif not headers:
        headers = name_ref(Ref(frame.subject), wording)
    headers += [metric_words(metric, wording) + (" (%)" if metric.compute else "") for metric in frame.metrics]
    return [capitalize(each) for each in headers]


def name_groups(frame: Frame, wording: Wording) -> list[str]:
    """Return the names of the groups; not of rows that the columns show already."""
    headers, tables = list[str](), {ref.table for ref in frame.columns}
    for group in frame.groups:
        if group.grain or group.of.column:
            headers.append(group_words(group, wording))
        elif group.of.table not in tables:
            headers += name_ref(group.of, wording)
    return headers


def name_ref(ref: Ref, wording: Wording) -> list[str]:
    """Return the name of a column; a row has that of its table, or of each column of its label if there are several."""
    if ref.column:
        return [wording.column(ref)]
    if ref.expression:
        return [ref.name or wording.table(ref.table)]
    info = wording.index.tables[ref.table]
    names = info.label or info.key or tuple(info.columns)[:1]
    if len(names) == 1:
        return [wording.table(ref.table) if wording.language == "zh" else singular(wording.table(ref.table))]
    return [wording.column_name(Ref(ref.table, name)) for name in names]


def write_name(column: str) -> str:
    """Return a column's name as words: `total_sales` is "Total sales", `SUM(amount)` is "Total amount"."""
    call = CALL.fullmatch(column.strip())
    if call and call[3] == "*":
        return "Count"
    if call and PLAIN_NAME.fullmatch(call[3]):
        function, name = call[1].lower(), write_words(call[3].rpartition(".")[2]).lower()
        return ENGLISH["count_distinct" if call[2] and function == "count" else function].format(name)
    return capitalize(write_words(column)) if PLAIN_NAME.fullmatch(column) else column


def write_words(name: str) -> str:
    words = " ".join(split_name(name)) if name.isascii() else name
    return re.sub(r"\bid\b", "ID", words)


def capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]


# CSV -----------------------------------------------------------------------------------------------------------------


def csv_text(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return rows as CSV for programs, under the names of their columns."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(columns)
    writer.writerows(["" if value is None else value for value in row] for row in rows)
    return out.getvalue()


def write_csv(rows: Rows, headers: Sequence[str]) -> str:
    """Return rows as a CSV file for spreadsheets: headers in words, and no cell that is read as a formula."""
    cells = [[guard_cell(value) for value in row] for row in rows.rows]
    return BYTE_ORDER_MARK + csv_text([guard_cell(header) for header in headers or rows.columns], cells)


def guard_cell(value: Any) -> Any:
    """Return a value with an apostrophe in front where a spreadsheet would run it as a formula; numbers are kept."""
    if value is None or isinstance(value, int | float):
        return value
    text = str(value)
    return f"'{text}" if text.lstrip(" ").startswith(FORMULA) and not NUMBER.fullmatch(text) else text


def make_file_name(title: str, rows: Rows) -> str:
    """Return a name from the title, which says so where the file does not have all rows."""
    name = re.sub(r"[^\w.]+", "-", title).strip("-._")[:FILE_NAME_CHARS] or "result"
    return f"{name}-first-{len(rows.rows)}-rows.csv" if rows.is_truncated else f"{name}.csv"
