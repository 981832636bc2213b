"""Filters: the values and the defined words of a sketch as conditions on columns. Called by assemble.py and edit.py;
periods are in filter_periods.py, numbers in filter_numbers.py.

Values of one column that are joined by "and" or "or" are alternatives; two values side by side that are a first and a
last name are one person.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from recollect.sql.context import Context, Unclear
from recollect.sql.frame import Filter, Ref
from recollect.sql.known import SURE, Target
from recollect.sql.lexer import root_of
from recollect.sql.lexicon import join_id
from recollect.sql.naming import words_of
from recollect.sql.places import called, nearest, placed
from recollect.sql.sketch import ValueAsk
from recollect.sql.vocabulary import vocabulary

BEING = ("is", "are", "was", "were", "be", "been", "being", "that", "as", "status", "and", "or", "only", "just", "the")


def value_filters(context: Context, base: str, asks: Sequence[ValueAsk]) -> list[Filter]:
    found: list[tuple[ValueAsk, Target]] = []
    asks = [ask for ask in asks if not is_role(context, base, ask)]
    for cluster in clusters(paired(asks)):
        options = shared(cluster)
        check_or(cluster)
        for ask, targets in zip(cluster, options, strict=True):
            targets = directed_ones(context, base, targets, ask, asks)
            target = nearest(context, base, likeliest(context, base, targets, ask), ask.text)
            if target.source:
                context.assume(ask.text, called(context, target), target.source, target.confidence)
            check_owner(context, target, ask)
            check_rivals(context, base, target, ask)
            check_from(context, base, target, targets, ask)
            known = (*targets, *ask.others)
            alike = [t for t in known if (t.table, t.column, t.via) == (target.table, target.column, target.via)]
            found += [(ask, each) for each in alike]  # one text may be stored in several spellings
    return merged(context, base, found)


def check_or(cluster: Sequence[ValueAsk]) -> None:
    """ "In Oslo or overdue": two conditions of which one will do are not asked for here; both at once is not meant."""
    columns = [{(t.table, t.column) for t in ask.targets} for ask in cluster]
    if any(ask.is_or for ask in cluster) and not set.intersection(*columns):
        texts = [ask.text for ask in cluster]
        question = f"“{' or '.join(texts)}” are different things here. Please ask for one."
        raise Unclear(texts[-1], question, texts, "entity")


def is_role(context: Context, base: str, ask: ValueAsk) -> bool:
    """ "Events approved by Ann": who did it, although a status is called so too; "events that are approved" have it."""
    if ask.of or ask.is_negated or not ask.text.islower() or not ask.text.endswith("ed"):
        return False
    if ask.lead in BEING and not ask.is_done_by:
        return False
    joins = [join for join in context.model.joins if join.table == base]
    return any(root_of(ask.text) == root_of(name.split()[0]) for join in joins for name in join.names)


def check_owner(context: Context, target: Target, ask: ValueAsk) -> None:
    """ "Cancelled customers", where orders are cancelled: an adjective says something of what stands behind it."""
    entity = context.entity(target.table)
    is_name = entity is not None and target.column in entity.label
    costs = [context.cost(table, target.table) or (1, 9) for table in ask.of]
    if costs and not is_name and not target.source and all(cost[0] for cost in costs):
        owner = context.called(target.table)
        raise Unclear(ask.text, f"“{ask.text}” is said of a {owner} here. What is meant?", category="state")


def check_rivals(context: Context, base: str, target: Target, ask: ValueAsk) -> None:
    """A writer's full name may be a reader's first and last name."""
    people = [t for t in ask.rivals if (e := context.entity(t.table)) and t.column in e.label]
    far = (context.cost(base, target.table) or (1, 9))[0]
    reached = [t for t in people if (context.cost(base, t.table) or (9, 9))[0] <= far]
    if reached and not target.source:
        names = [f"the {context.called(t.table)} {ask.text}" for t in (target, *reached)]
        raise Unclear(ask.text, f"“{ask.text}” is the name of several things. Which one?", names, "entity")


def check_from(context: Context, base: str, target: Target, targets: Sequence[Target], ask: ValueAsk) -> None:
    """Orders "from Berlin" were hardly sent there: where a customer's town is known as well, it is asked. Guests "from
    France" are not those of hotels in France."""
    if ask.whose and not target.source and all((context.cost(e, target.table) or (1, 9))[0] for e in ask.whose):
        owner = context.called(min(ask.whose))
        question = f"“{ask.text}” is said of a {context.called(target.table)} here, not of a {owner}. What is meant?"
        raise Unclear(ask.text, question, category="entity")
    sent = set(words_of(target.column)) & set(vocabulary().words("qualifiers", "sent_to"))
    others = [t for t in targets if t.table != target.table and (context.cost(base, t.table) or (1, 0))[0] == 0]
    if ask.lead == "from" and sent and others:
        names = [called(context, replace(t, value="", name=column_name(context, t))) for t in (target, *others)]
        raise Unclear(ask.text, f"Which of its places is “{ask.text}”?", names, "entity")


def likeliest(context: Context, base: str, targets: Sequence[Target], ask: ValueAsk) -> list[Target]:
    """A value that names an entity is that entity, not a text that happens to say the same; not the counted thing
    itself, if it can be another. Two entities of one name: the maker, where it says "by", or a question."""
    labels = [t for t in targets if is_label(context, t)]
    if owners := owners_of(context, base, targets, ask):
        return owners
    if any(t.source for t in targets) or not labels:
        return list(targets)
    reached = [t for t in labels if context.cost(base, t.table)]
    others = [t for t in reached if t.table != base] or reached
    plain = [t for t in targets if t not in labels and context.cost(base, t.table)]
    if len({t.table for t in others}) > 1:
        others = told_apart(context, others, ask)
    if plain and others:
        context.assume(ask.text, f"the {context.called(others[0].table)}", "model", 0.8)
    return others or list(targets)


def is_label(context: Context, target: Target) -> bool:
    entity = context.entity(target.table)
    return entity is not None and target.column in entity.label


def owners_of(context: Context, base: str, targets: Sequence[Target], ask: ValueAsk) -> list[Target]:
    """ "Albums of Pearl Jam": the artist's, although one of them is called so itself."""
    if not all(t.table == base and is_label(context, t) and not t.source for t in targets):
        return []
    found = [t for t in ask.others if is_label(context, t) and (context.cost(base, t.table) or (1, 0))[0] == 0]
    return told_apart(context, found, ask) if len({t.table for t in found}) > 1 else found


def told_apart(context: Context, targets: list[Target], ask: ValueAsk) -> list[Target]:
    if ask.is_maker:
        return [
            t for t in targets if all((c := context.cost(o.table, t.table)) and not c[0] for o in targets)
        ] or targets
    names = [f"the {context.called(t.table)} {t.value}" for t in targets]
    raise Unclear(ask.text, f"“{ask.text}” is the name of several things. Which one?", names, "entity")


def paired(asks: Sequence[ValueAsk]) -> list[ValueAsk]:
    """ "Margaret Park": the first name and the last name of one table."""
    found = list(asks)
    for at in range(len(found) - 1):
        one, other = found[at], found[at + 1]
        if other.at - one.at != 1 or other.is_alternative:
            continue
        pairs = [(a, b) for a in one.targets for b in other.targets if a.table == b.table and a.column != b.column]
        if pairs:
            found[at] = with_targets(one, [a for a, _ in pairs])
            found[at + 1] = with_targets(other, [b for _, b in pairs])
    return found


def with_targets(ask: ValueAsk, targets: Sequence[Target]) -> ValueAsk:
    return replace(ask, targets=tuple(dict.fromkeys(targets)))


def clusters(asks: Sequence[ValueAsk]) -> list[list[ValueAsk]]:
    found: list[list[ValueAsk]] = []
    for ask in asks:
        if ask.is_alternative and found:
            found[-1].append(ask)
        else:
            found.append([ask])
    return found


def shared(cluster: Sequence[ValueAsk]) -> list[tuple[Target, ...]]:
    """Alternatives stand in one column, if there is one that has them all."""
    columns = [{(t.table, t.column) for t in ask.targets} for ask in cluster]
    common = set.intersection(*columns) if columns else set()
    if not common:
        return [ask.targets for ask in cluster]
    return [tuple(t for t in ask.targets if (t.table, t.column) in common) for ask in cluster]


def merged(context: Context, base: str, found: Sequence[tuple[ValueAsk, Target]]) -> list[Filter]:
    values: dict[tuple[str, str, bool, str], list[str]] = {}
    refs: dict[tuple[str, str, bool, str], Ref] = {}
    for ask, target in found:
        via = target.via or directed(context, base, target.table, ask.lead)
        at = (target.table, target.column, ask.is_negated, via)
        plain = Target("dimension", target.table, target.column, name=column_name(context, target), via=via)
        refs.setdefault(at, placed(context.beside(ask.beside), base, plain, ask.text))
        values.setdefault(at, []).append(target.value)
    return [filter_of(refs[at], tuple(dict.fromkeys(said)), at[2]) for at, said in values.items()]


def directed_ones(
    context: Context, base: str, targets: tuple[Target, ...], ask: ValueAsk, asks: Sequence[ValueAsk]
) -> tuple[Target, ...]:
    """ "To Rome" is where it goes, whoever else lives there; "from Oslo" beside it is where that begins."""
    is_way = ask.lead == "to" or (ask.lead == "from" and any(each.lead == "to" for each in asks))
    return tuple(t for t in targets if is_way and directed(context, base, t.table, ask.lead)) or targets


def directed(context: Context, base: str, table: str, lead: str) -> str:
    """ "From Oslo" is where it comes from, "to Rome" where it goes, where a table has both."""
    part = {"from": "origins", "to": "destinations"}.get(lead)
    if part is None:
        return ""
    words = vocabulary().words("qualifiers", part)
    joins = [j for j in context.model.joins if (j.table, j.to) == (base, table)]
    fits = [j for j in joins if any(name.split()[0] in words for name in j.names)]
    return join_id(base, fits[0].columns) if len(joins) > 1 and len(fits) == 1 else ""


def column_name(context: Context, target: Target) -> str:
    named = (d.names[0] for d in context.model.dimensions if (d.table, d.column) == (target.table, target.column))
    return next(named, target.column)


def filter_of(ref: Ref, values: tuple[str, ...], is_negated: bool) -> Filter:
    if len(values) == 1:
        return Filter(ref, "!=" if is_negated else "=", values)
    return Filter(ref, "not in" if is_negated else "in", values)


def check_contrary(definitions: Sequence[Target]) -> None:
    """ "Residents vs non residents": no row is both."""
    columns: dict[tuple[str, str], Target] = {}
    for each in definitions:
        column, _, value = each.expression.removeprefix("NOT (").partition(" = ")
        other = columns.setdefault((each.table, column), each)
        if value and other.expression != each.expression:
            question = f"Nothing is both “{other.name}” and “{each.name}”. Which of them is meant?"
            raise Unclear(each.name, question, (other.name, each.name), "state")


def definition_filters(context: Context, base: str, definitions: Sequence[Target]) -> list[Filter]:
    check_contrary(definitions)
    found = []
    for name in dict.fromkeys(each.name for each in definitions):
        target = nearest(context, base, [each for each in definitions if each.name == name], name)
        cost = context.cost(base, target.table) or (1, 9)
        if cost[0] and target.table not in context.mentioned:
            owner = context.called(target.table)
            raise Unclear(name, f"“{name}” is said of a {owner} here. What is meant?", (f"{name} {owner}s",), "state")
        if cost[0] and target.expression.startswith("NOT ("):
            owner = context.called(target.table)
            question = f"“{name}”: with a {owner} that is so, or without any {owner} that is not?"
            raise Unclear(name, question, category="state")
        if target.confidence < SURE:
            raise Unclear(name, f"Does “{name}” mean {target.meaning}?", (target.meaning,), "state")
        context.assume(name, target.meaning, target.source, target.confidence)
        ref = placed(context, base, Target("dimension", target.table, name=name), name)
        found.append(Filter(ref, "where", (target.expression,)))
    return found
