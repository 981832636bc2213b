"""Explaining: a frame in words, in English or Chinese. Titles of answers, labels of choices, column headers, and what a
follow-up kept and changed.

`label_frame` is the title: "Total sales by region, 2024". `make_distinct` tells apart choices whose titles are equal.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from importlib.resources import files

from recollect.apps.ask.interpret.frame import Existence, Filter, Frame, Group, Having, Metric, Order, Period, Ref
from recollect.apps.ask.interpret.index import SchemaIndex
from recollect.apps.ask.semantic.model import Dimension, Moment
from recollect.apps.ask.words import is_chinese, split_name

ROWS: Mapping[str, list[str]] = tomllib.loads((files(__package__) / "titles.toml").read_text(encoding="utf-8"))
TITLES: Mapping[str, Mapping[str, str]] = {
    language: {key: texts[n] for key, texts in ROWS.items() if n < len(texts)}
    for n, language in enumerate(("en", "zh"))
}
ENGLISH = TITLES["en"]
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
          "December")  # fmt: skip
# Titles of the first row, by whether it is ordered by a date and whether the order is descending.
FIRST = {(True, True): "latest", (True, False): "earliest", (False, True): "highest", (False, False): "lowest"}
BARE = frozenset(("name", "title", "id", "code", "type", "status", "date", "total", "amount", "number", "description"))


@dataclass(frozen=True, slots=True)
class Wording:
    """The words of one language over one schema."""

    index: SchemaIndex
    language: str

    def say(self, key: str, *parts: str) -> str:
        return TITLES[self.language][key].format(*parts)

    def join(self, parts: Sequence[str], key: str = "and") -> str:
        if len(parts) < 2:
            return "".join(parts)
        return self.say("comma").join(parts[:-1]) + self.say(key) + parts[-1]

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
        return self.say("owned", singular(title) if self.language == "en" else title, name)

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
    if frame.order and frame.limit is not None:
        text = wording.say("part").join([rank_words(frame, wording), *condition_words(frame, wording)])
    else:
        head = figure_words(frame, wording) if frame.metrics else list_words(frame, wording)
        text = wording.say("part").join([head, *condition_words(frame, wording), *order_words(frame, wording)])
    if frame.limit is not None and not frame.order:
        text = wording.say("some", str(frame.limit), text)
    return text[:1].upper() + text[1:]


def ranked_words(frame: Frame, wording: Wording) -> str:
    """Return "region with the highest total sales" or "top 5 customers by total sales"."""
    order, count = frame.order[0], frame.limit or 1
    by = lower_first(order_target(order, frame, wording))
    groups = [group_words(group, wording) for group in frame.groups]
    what = wording.join(groups) if groups else list_words(frame, wording)
    if count == 1:
        what = singular(what) if wording.language == "en" and not frame.columns else what
        return wording.say(FIRST[is_by_date(order, frame, wording), order.is_descending], what, by)
    what = plural(what) if wording.language == "en" and len(groups) == 1 else what
    return wording.say("top" if order.is_descending else "bottom", str(count), what, by)


def is_by_date(order: Order, frame: Frame, wording: Wording) -> bool:
    by = order.of or (frame.metrics[order.at].of if frame.within else Ref(""))
    return wording.index.column_of(by).role == "moment"


def rank_words(frame: Frame, wording: Wording) -> str:
    """Return the title of a ranking, within each group if it is one of several."""
    if not frame.within:
        return ranked_words(frame, wording)
    parts = wording.join([group_words(group, wording) for group in frame.groups[: frame.within]])
    return wording.say("within", ranked_words(replace(frame, groups=frame.groups[frame.within :]), wording), parts)


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
    if metric.per:
        text = wording.say("per", lower_first(text), group_words(metric.per, wording))
    if metric.part and metric.compute == "rate":
        part = Frame(metric.of.table, filters=metric.part.filters, existence=metric.part.existence)
        return wording.say("rate", lower_first(text), wording.say("comma").join(condition_words(part, wording)))
    if not metric.compute:
        return text
    return wording.say(metric.compute, lower_first(text) if metric.compute in ("growth", "running", "change") else text)


def group_words(group: Group, wording: Wording) -> str:
    if group.grain:
        return wording.say(f"grain {group.grain}")
    name = wording.column(group.of) if group.of.column else singular(wording.table(group.of.table))
    return with_role(name, group.of, wording)


def with_role(name: str, ref: Ref, wording: Wording) -> str:
    """Name the key, where a table is reached by one of several."""
    if not ref.via:
        return name
    return wording.say("via", name, name_key(ref.via[-1], ref.table, wording))


def name_key(key: str, table: str, wording: Wording) -> str:
    """Return the words of a key; of one that only repeats the table it leads to, the table that has it."""
    owner, _, column = key.rpartition(".")
    words = split_name(column)
    if {singular(word) for word in words} <= {*(singular(word) for word in split_name(table)), "id"}:
        return singular(wording.table(owner))
    return " ".join(words)


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
    roles = [name_key(name, each.table, wording) for name in each.via[-1:]]
    details = ", ".join([*roles, *inner])
    if each.on is not None:
        what, details = ", ".join(inner), ""
    text = wording.say("via", what, details) if details else what
    return wording.say("without" if each.is_negated else "with", text)


def having_words(having: Having, wording: Wording) -> str:
    metric = having.metric
    if metric.aggregate == "count":
        key = f"count {having.op}"
        count = wording.say(key if key in TITLES[wording.language] else having.op, "", *having.values)
        return count.strip() + " " + wording.table(metric.of.table)
    return wording.say(having.op, lower_first(metric_words(metric, wording)), *having.values)


def order_words(frame: Frame, wording: Wording) -> list[str]:
    return [
        wording.say("most" if order.is_descending else "least", lower_first(order_target(order, frame, wording)))
        for order in frame.order
    ]


def order_target(order: Order, frame: Frame, wording: Wording) -> str:
    if order.of is not None:
        return wording.column(order.of)
    if not frame.metrics:
        return ""
    metric = frame.metrics[order.at]
    is_plain = frame.within and metric.of.column and metric.aggregate in ("min", "max")
    return wording.column(metric.of) if is_plain else metric_words(metric, wording)  # "the lowest price" says it


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
    if is_whole_unit(first, after, months):
        month = MONTHS[first.month - 1] if wording.language == "en" else str(first.month)
        return wording.say(UNIT_TITLES[months], str(first.year), month, str((first.month + 2) // 3))
    if (first.month, first.day, after.month, after.day) == (1, 1, 1, 1):
        return f"{first.year}-{last.year}"
    return " – ".join(dict.fromkeys((first.isoformat(), last.isoformat())))


def is_whole_unit(first: date, after: date, months: int) -> bool:
    """Whether it is a month, quarter or year of the calendar."""
    return months in UNIT_TITLES and first.day == after.day == 1 and (first.month - 1) % months == 0


UNIT_TITLES = {1: "month", 3: "quarter", 12: "year"}
KEPT = {"figure": "metrics", "group": "groups", "filter": "filters", "period": "periods", "order": "order"}


def describe_change(changed: Sequence[str], last: Frame, language: str = "en") -> str:
    """Return what a follow-up kept of the last question and what it changed."""
    titles = TITLES[language]
    kept = [titles[f"slot {slot}"] for slot, part in KEPT.items() if getattr(last, part) and slot not in changed]
    new = dict.fromkeys(titles[f"slot {slot}"] for slot in changed)
    comma = titles["comma"]
    return titles["changed"].format(comma.join(kept) or titles["nothing"], comma.join(new))


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
    others = set().union(*(frame.refs() for frame in alike))
    refs = list(frames[at].refs())
    own = [ref for ref in refs if ref not in others] or refs
    names = dict.fromkeys(f"{ref.table}.{ref.column}".rstrip(".") for ref in own)
    return ", ".join(names) or frames[at].subject
