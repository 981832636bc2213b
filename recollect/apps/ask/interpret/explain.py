"""Explaining: a frame in words, in English or Chinese. Titles of answers, labels of choices, column headers, and what a
follow-up kept and changed.

`label_frame` is the title: "Total sales by region, 2024". `make_distinct` tells apart choices whose titles are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from recollect.apps.ask.interpret.frame import Existence, Filter, Frame, Group, Having, Metric, Order, Period, Ref
from recollect.apps.ask.interpret.index import SchemaIndex
from recollect.apps.ask.interpret.words import is_chinese, split_name
from recollect.apps.ask.semantic.model import Dimension, Moment

ENGLISH = {
    "count": "Number of {}", "count_distinct": "Number of different {}", "sum": "Total {}", "avg": "Average {}",
    "min": "Lowest {}", "max": "Highest {}", "by": " by {}", "and": " and ", "of": "{} of {}", "=": "{} {}",
    "!=": "{} not {}", ">": "{} above {}", ">=": "{} at least {}", "<": "{} below {}", "<=": "{} at most {}",
    "between": "{} between {} and {}", "in": "{} {}", "not in": "{} not {}", "is null": "without {}",
    "not null": "with {}", "contains": '{} contains "{}"', "not contains": '{} does not contain "{}"',
    "starts": '{} starts with "{}"', "ends": '{} ends with "{}"', "> average": "{} above average",
    "< average": "{} below average", "where": "{}", "not where": "not {}", "with": "with {}", "without": "without {}",
    "share": "{} as a share of the total", "growth": "growth of {}", "top": "top {}: {}",
    "some": "first {}: {}", "bottom": "bottom {}: {}",
    "most": "highest {} first", "least": "lowest {} first", "having": "{} {}", "except": "except {}",
    "since": "since {}", "before": "before {}", "or": " or ", "different": "different {}",
    "highest": "with the highest {}",
    "lowest": "with the lowest {}", "via": "{} ({})",
}  # fmt: skip
CHINESE = {
    "count": "{}数量", "count_distinct": "不同{}的数量", "sum": "{}总计", "avg": "平均{}", "min": "最低{}",
    "max": "最高{}",
    "by": "，按{}", "and": "和", "of": "{1}的{0}", "=": "{}为{}", "!=": "{}不是{}", ">": "{}大于{}", ">=": "{}至少{}",
    "<": "{}小于{}", "<=": "{}至多{}", "between": "{}在{}和{}之间", "in": "{}为{}", "not in": "{}不是{}",
    "is null": "没有{}",
    "not null": "有{}", "contains": "{}包含“{}”", "not contains": "{}不包含“{}”", "starts": "{}以“{}”开头",
    "ends": "{}以“{}”结尾", "> average": "{}高于平均", "< average": "{}低于平均", "where": "{}", "not where": "非{}",
    "with": "有{}", "without": "没有{}", "share": "{}占比", "growth": "{}增长", "top": "前{}：{}",
    "some": "任意{}个：{}", "bottom": "后{}：{}",
    "most": "{}从高到低", "least": "{}从低到高", "having": "{}{}", "except": "除{}", "since": "自{}起",
    "before": "{}之前",
    "or": "或", "different": "不同的{}", "highest": "{}最高", "lowest": "{}最低", "via": "{}（{}）",
}  # fmt: skip
GRAINS_ZH = {
    "year": "年",
    "quarter": "季度",
    "month": "月",
    "week": "周",
    "day": "日",
    "hour": "小时",
    "weekday": "星期",
}
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
          "December")  # fmt: skip
BARE = frozenset(("name", "title", "id", "code", "type", "status", "date", "total", "amount", "number", "description"))


@dataclass(frozen=True, slots=True)
class Wording:
    """The words of one language over one schema."""

    index: SchemaIndex
    language: str

    def say(self, key: str, *parts: str) -> str:
        return (CHINESE if self.language == "zh" else ENGLISH)[key].format(*parts)

    def join(self, parts: Sequence[str], key: str = "and") -> str:
        if len(parts) < 2:
            return "".join(parts)
        comma = "、" if self.language == "zh" else ", "
        return comma.join(parts[:-1]) + self.say(key) + parts[-1]

    def table(self, table: str) -> str:
        """Return the plural name of a table's rows."""
        title = self.index.tables[table].title
        return title if self.language == "zh" else plural(title)

    def column(self, ref: Ref) -> str:
        """Return a column's name, with its table where the name alone says little or several tables have it."""
        title = self.index.tables[ref.table].title
        if not ref.column:
            return ref.name or title
        name = self.column_name(ref)
        is_shared = sum(ref.column in info.columns for info in self.index.tables.values()) > 1
        if name.startswith(title) or not (name in BARE or is_shared):
            return name
        return f"{title}{name}" if self.language == "zh" else f"{singular(title)} {name}"

    def column_name(self, ref: Ref) -> str:
        columns: tuple[Dimension | Moment, ...] = (*self.index.model.dimensions, *self.index.model.moments)
        named = (each.names[0] for each in columns if (each.table, each.column) == (ref.table, ref.column))
        return next(named, " ".join(split_name(ref.column)))


def plural(name: str) -> str:
    if name.endswith(("s", "data", "info")) or not name.isascii():
        return name
    if name.endswith("y") and name[-2:-1] not in "aeiou":
        return name[:-1] + "ies"
    return name + ("es" if name.endswith(("x", "ch", "sh")) else "s")


def singular(name: str) -> str:
    if name.endswith("ies"):
        return name[:-3] + "y"
    return name[:-1] if name.endswith("s") and not name.endswith("ss") else name


def label_frame(frame: Frame, index: SchemaIndex, question: str = "") -> str:
    """Return the title of a frame, in the language of the question."""
    wording = Wording(index, "zh" if is_chinese(question) else "en")
    head = figure_words(frame, wording) if frame.metrics else list_words(frame, wording)
    parts = [head, *condition_words(frame, wording), *order_words(frame, wording)]
    text = ("，" if wording.language == "zh" else ", ").join(parts)
    if frame.limit is not None and frame.limit > 1 and frame.order:
        text = wording.say("top" if frame.order[0].is_descending else "bottom", str(frame.limit), text)
    elif frame.limit is not None and not frame.order:
        text = wording.say("some", str(frame.limit), text)
    return text[:1].upper() + text[1:]


def condition_words(frame: Frame, wording: Wording) -> list[str]:
    made = [filter_words(each, wording) for each in frame.filters if not each.either]
    either = [filter_words(each, wording) for each in frame.filters if each.either]
    made += [wording.join(either, "or")] if either else []
    made += [existence_words(each, wording) for each in frame.existence]
    made += [having_words(each, wording) for each in frame.having]
    return made + [period_words(each, wording) for each in frame.periods]


def figure_words(frame: Frame, wording: Wording) -> str:
    shown = [wording.column(ref) for ref in frame.columns]
    first, *others = [*shown, *(metric_words(each, wording) for each in frame.metrics)]
    text = wording.join([first, *map(lower_first, others)])
    by = wording.join([group_words(group, wording) for group in frame.groups])
    return text + wording.say("by", by) if by else text


def list_words(frame: Frame, wording: Wording) -> str:
    shown = wording.join([wording.column(ref) for ref in frame.columns])
    groups = wording.join([group_words(each, wording) for each in frame.groups])
    if not shown:
        return groups or wording.table(frame.subject)
    text = wording.say("different", shown) if frame.is_distinct else shown
    return wording.say("of", text, wording.table(frame.subject))


def lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]


def metric_words(metric: Metric, wording: Wording) -> str:
    what = wording.table(metric.of.table) if metric.aggregate == "count" else wording.column(metric.of)
    is_said = metric.aggregate == "sum" and "total" in what.split()
    text = what[:1].upper() + what[1:] if is_said else wording.say(metric.aggregate, what)
    if not metric.compute:
        return text
    return wording.say(metric.compute, lower_first(text) if metric.compute == "growth" else text)


def group_words(group: Group, wording: Wording) -> str:
    if group.grain:
        return GRAINS_ZH[group.grain] if wording.language == "zh" else group.grain
    name = wording.column(group.of) if group.of.column else singular(wording.table(group.of.table))
    return with_role(name, group.of, wording)


def with_role(name: str, ref: Ref, wording: Wording) -> str:
    """Name the key, where a table is reached by one of several."""
    if not ref.via:
        return name
    return wording.say("via", name, " ".join(split_name(ref.via[-1].rpartition(".")[2])))


def filter_words(each: Filter, wording: Wording) -> str:
    if each.op in ("where", "not where"):
        return wording.say(each.op, each.of.name or each.values[0])
    name = with_role(wording.column(each.of), each.of, wording)
    if each.op in ("in", "not in"):
        return wording.say(each.op, name, wording.join(each.values, "or"))
    return wording.say(each.op, name, *each.values)


def existence_words(each: Existence, wording: Wording) -> str:
    inner = [filter_words(f, wording) for f in each.filters] + [period_words(p, wording) for p in each.periods]
    what = wording.table(each.table)
    if each.having:
        what = having_words(each.having, wording)
    roles = [" ".join(split_name(name.rpartition(".")[2])) for name in each.via[-1:]]
    details = ", ".join([*roles, *inner])
    if each.on is not None:
        what, details = ", ".join(inner), ""
    text = wording.say("via", what, details) if details else what
    return wording.say("without" if each.is_negated else "with", text)


def having_words(having: Having, wording: Wording) -> str:
    metric = having.metric
    if metric.aggregate == "count":
        number = {">": "more than {}", "<": "fewer than {}", "=": "exactly {}"}.get(having.op, "")
        is_english = wording.language == "en"
        count = number.format(*having.values) if number and is_english else wording.say(having.op, "", *having.values)
        return count.strip() + " " + wording.table(metric.of.table)
    return wording.say(having.op, lower_first(metric_words(metric, wording)), *having.values)


def order_words(frame: Frame, wording: Wording) -> list[str]:
    made = []
    for order in frame.order:
        what = order_target(order, frame, wording)
        is_top = frame.limit == 1
        key = ("highest" if is_top else "most") if order.is_descending else ("lowest" if is_top else "least")
        made.append(wording.say(key, lower_first(what)))
    return made if frame.limit is None or frame.limit == 1 else []


def order_target(order: Order, frame: Frame, wording: Wording) -> str:
    if order.by == "metric" and order.at < len(frame.metrics):
        return metric_words(frame.metrics[order.at], wording)
    return wording.column(order.of) if order.of else ""


def period_words(period: Period, wording: Wording) -> str:
    text = wording.join([range_words(start, end, wording) for start, end in period.ranges])
    info = wording.index.tables.get(period.of.table)
    if info and info.main_moment and period.of.column != info.main_moment:
        text = f"{wording.column(period.of)} {text}"
    return wording.say("except", text) if period.is_negated else text


def range_words(start: str | None, end: str | None, wording: Wording) -> str:
    """Return "2024", "March 2022", "Q1 2024", "since 2020-05-01" or "2024-01-01 to 2024-02-14"."""
    if start is None or end is None:
        return wording.say("since" if start else "before", start or end or "")
    first, after = date.fromisoformat(start[:10]), date.fromisoformat(end[:10])
    last = after - timedelta(days=1)
    months = 12 * (after.year - first.year) + after.month - first.month
    if first.day == after.day == 1 and months in (1, 3, 12) and (first.month - 1) % months == 0:
        return unit_words(first, months, wording)
    if first.month == first.day == after.month == after.day == 1:
        return f"{first.year}-{last.year}"
    return first.isoformat() if first == last else f"{first.isoformat()} – {last.isoformat()}"


def unit_words(first: date, months: int, wording: Wording) -> str:
    if wording.language == "zh":
        part = {1: f"{first.month}月", 3: f"第{(first.month + 2) // 3}季度", 12: ""}[months]
        return f"{first.year}年{part}"
    part = {1: f"{MONTHS[first.month - 1]} ", 3: f"Q{(first.month + 2) // 3} ", 12: ""}[months]
    return f"{part}{first.year}"


SLOTS = {
    "figure": ("figure", "指标"), "columns": ("columns", "列"), "group": ("grouping", "分组"),
    "filter": ("conditions", "条件"),
    "condition": ("conditions", "条件"), "period": ("period", "时间"), "order": ("order", "排序"),
    "limit": ("number of rows", "行数"),
}  # fmt: skip


def describe_change(changed: Sequence[str], last: Frame, language: str = "en") -> str:
    """Return what a follow-up kept of the last question and what it changed."""
    at = 1 if language == "zh" else 0
    present = {
        "figure": bool(last.metrics), "group": bool(last.groups), "filter": bool(last.filters or last.existence),
        "period": bool(last.periods), "order": bool(last.order),
    }  # fmt: skip
    kept = [SLOTS[slot][at] for slot, is_there in present.items() if is_there and slot not in changed]
    new = list(dict.fromkeys(SLOTS[slot][at] for slot in changed))
    if language == "zh":
        return f"保留：{'、'.join(kept) or '无'}；更改：{'、'.join(new)}"
    return f"Kept: {', '.join(kept) or 'nothing'}. Changed: {', '.join(new)}."


def make_distinct(labels: Sequence[str], frames: Sequence[Frame], index: SchemaIndex) -> list[str]:
    """Tell equal labels apart by the columns that only one of the frames uses."""
    made = [
        f"{label} ({name_difference(n, labels, frames)})" if labels.count(label) > 1 else label
        for n, label in enumerate(labels)
    ]
    return [label if made.index(label) == n else f"{label} [{n + 1}]" for n, label in enumerate(made)]


def name_difference(at: int, labels: Sequence[str], frames: Sequence[Frame]) -> str:
    """Return the columns that only this frame uses among those with the same label, else all of its columns."""
    alike = [frame for n, frame in enumerate(frames) if n != at and labels[n] == labels[at]]
    others = {ref for frame in alike for ref in frame.refs()}
    refs = list(frames[at].refs())
    own = [ref for ref in refs if ref not in others] or refs
    names = dict.fromkeys(f"{ref.table}.{ref.column}" if ref.column else ref.table for ref in own)
    return ", ".join(names) or frames[at].subject
