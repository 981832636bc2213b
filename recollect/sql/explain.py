"""Explain: a frame in plain words: what is counted, by what, of which, in which period. Shown beside the answer, so
that a reader sees what was understood before the number is believed.
"""

from __future__ import annotations

from dataclasses import replace

from recollect.sql.catalog import Catalog
from recollect.sql.frame import Existence, Filter, Frame, Group, Having, Metric, Period, Ref, Share
from recollect.sql.naming import many
from recollect.sql.semantic import SemanticModel

AGGREGATES = {"sum": "the total of", "avg": "the average of", "min": "the least", "max": "the greatest",
              "count_distinct": "the number of different"}  # fmt: skip
OPS = {"=": "is", "!=": "is not", "in": "is one of", "not in": "is none of", ">": "is more than", ">=": "is at least",
       "<": "is less than", "<=": "is at most", "between": "is between", "> average": "is above the average of all",
       "< average": "is below the average of all"}  # fmt: skip


def explained(frame: Frame, model: SemanticModel, catalog: Catalog) -> str:
    names = {entity.table: entity.names[0] for entity in model.entities}
    said = figures(frame, names) if frame.metrics else listed(frame, names)
    conditions = [condition(each, names) for each in frame.filters] + [existence(e, names) for e in frame.existence]
    conditions += [threshold(each, names) for each in frame.having]
    where = f", where {' and '.join(conditions)}" if conditions else ""
    when = f", {' and '.join(period(each, names) for each in frame.periods)}" if frame.periods else ""
    return f"{said[:1].upper()}{said[1:]}{where}{when}.{order(frame)}{left_out(frame, catalog, names)}"


def figures(frame: Frame, names: dict[str, str]) -> str:
    said = " and ".join(metric(each, names) for each in frame.metrics)
    groups = " and ".join(group(each, names) for each in frame.groups)
    return f"{said} by {groups}" if groups else said


def metric(each: Metric, names: dict[str, str]) -> str:
    if each.per:
        counted = names.get(each.of.table, each.of.table)
        per = group(each.per, names)
        if each.of.expression:
            return f"{AGGREGATES[each.aggregate]} the total {called(each.of, names)} per {per}"
        return f"{AGGREGATES[each.aggregate]} the number of {many(counted)} per {per}, of those that have any"
    if each.share:
        return share(each, each.share, names)
    if each.aggregate == "count":
        return f"the number of {many(names.get(each.of.table, each.of.table))}"
    return f"{AGGREGATES[each.aggregate]} {called(each.of, names)}"


def share(each: Metric, of: Share, names: dict[str, str]) -> str:
    met = [condition(one, names) for one in of.filters] + [existence(e, names) for e in of.existence]
    met += [threshold(one, names) for one in of.having] + [period(one, names) for one in of.periods]
    whole = metric(replace(each, share=None), names)
    return f"the percentage of {whole} where {' and '.join(met)}" if met else f"the percentage of {whole} in all"


def group(each: Group, names: dict[str, str]) -> str:
    return f"{each.grain} of {called(each.of, names)}" if each.grain else called(each.of, names)


def called(ref: Ref, names: dict[str, str]) -> str:
    owner = names.get(ref.table, ref.table)
    own = ref.name or ref.column
    if not own or own == owner:
        return owner
    return own if own.startswith(owner) else f"{owner} {own}"


def listed(frame: Frame, names: dict[str, str]) -> str:
    if frame.groups:
        return f"each different {' and '.join(group(each, names) for each in frame.groups)}"
    return f"each {names.get(frame.subject, frame.subject)}"


def condition(each: Filter, names: dict[str, str]) -> str:
    name = called(each.of, names)
    if each.op == "where":
        return f"{each.of.name} ({each.values[0]})"
    if each.op in ("is null", "not null"):
        return f"{name} is {'empty' if each.op == 'is null' else 'not empty'}"
    joint = " and " if each.op == "between" else ", "
    return f"{name} {OPS[each.op]} {joint.join(each.values)}".rstrip()


def existence(each: Existence, names: dict[str, str]) -> str:
    then = "".join(f" with {period(one, names)}" for one in each.periods)
    return f"there is {'no' if each.is_negated else 'a'} {each.name or each.table}{then}"


def threshold(each: Having, names: dict[str, str]) -> str:
    then = "".join(f" ({period(one, names)})" for one in each.periods)
    return f"{metric(each.metric, names)}{then} {OPS[each.op]} {' and '.join(each.values)}"


def period(each: Period, names: dict[str, str]) -> str:
    return f"{called(each.of, names)} {' or '.join(reach(start, end) for start, end in each.ranges)}"


def reach(start: str | None, end: str | None) -> str:
    if start and end:
        return f"from {start} until before {end}"
    return f"from {start}" if start else f"before {end}"


def order(frame: Frame) -> str:
    limit = "" if frame.limit is None else f" Only the first {frame.limit}" if frame.limit > 1 else " Only the first"
    limit += " of each " + " and ".join(each.of.name or each.grain for each in frame.per) if frame.per else ""
    if not frame.order:
        return f"{limit}." if limit else ""
    way = "from the highest down" if frame.order[0].is_descending else "from the lowest up"
    return f"{limit}, {way}." if limit else f" Ordered {way}."


def left_out(frame: Frame, catalog: Catalog, names: dict[str, str]) -> str:
    """Rows that a condition passes over because the column is empty."""
    found = [each.of for each in frame.filters if each.op in ("!=", "not in") and is_nullable(each.of, catalog)]
    return f" Rows without a {called(found[0], names)} are not in it." if found else ""


def is_nullable(ref: Ref, catalog: Catalog) -> bool:
    table = catalog.table(ref.table)
    column = table.column(ref.column) if table else None
    return bool(column and column.nullable)
