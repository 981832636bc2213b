"""Follow-ups: a question laid over the last answered frame.

The frame is taken up as one in the making, what the question says takes the place of what was said before, and the
same steps finish it that finish any other reading. So "by month", "only Germany" and "and 2023?" are facts that are
applied to the last frame, and compete with fresh readings under the same score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise

from recollect.apps.ask.interpret.compose import compose
from recollect.apps.ask.interpret.finish import finish_work
from recollect.apps.ask.interpret.frame import Existence, Filter, Frame, Group, Having
from recollect.apps.ask.interpret.link import PRONOUNS, Linked, find_pronouns
from recollect.apps.ask.interpret.rank import Feature, Features, score
from recollect.apps.ask.interpret.render import row_refs
from recollect.apps.ask.interpret.state import Fact
from recollect.apps.ask.interpret.variants import list_rows, shape_features
from recollect.apps.ask.interpret.work import Draft, Work, make_ref, negate
from recollect.apps.ask.words import Token, find_operators, longest_operator

WIDTH = 25
SHORT, MEDIUM = 4, 7  # words of a typical follow-up
QUESTION_WORDS = frozenset(("how", "what", "which", "who", "list", "show"))
ADDING = frozenset(("too", "also", "plus", "with"))
REPLACING = frozenset(("instead", "rather", "换成", "改成"))
THEM = frozenset((("of", "them"), ("of", "those"), ("of", "these")))
LISTING = frozenset(("who", "which", "哪些", "谁", "them", "those", "these", "list", "show", "它们", "他们"))
EXCLUDING = frozenset(("!=", "not in"))
# The parts of a frame and the names of the slots that a change of them is reported as.
SLOTS = {
    "metrics": "figure", "columns": "columns", "groups": "group", "filters": "filter", "existence": "filter",
    "periods": "period", "having": "condition", "order": "order", "limit": "limit",
}  # fmt: skip


class CannotFollow(Exception):
    """What the question says cannot be laid over the last frame."""


def follow_up(linked: Linked, last: Frame) -> Iterator[Draft]:
    """Yield drafts that change the last frame by what the readings of this question say."""
    for state in compose(linked, WIDTH):
        if any(map(is_last_rows, state.facts)):
            continue  # a question of its own about these rows
        work = Work.from_frame(last, state, linked)
        before = dict(shape_features(last, work))
        with suppress(CannotFollow):
            cued = cue_feature(work)
            for make_room in RULES:
                make_room(work)
            for draft in finish_work(work):
                features = (*only_new(draft.features, before), cued, ("follow_unsure", float(not linked.is_last_sure)))
                changed = list_changes(last, draft.frame)
                if changed or draft.chart:
                    yield replace(draft, features=features, score=score(features), changed=changed)


def cue_feature(work: Work) -> Feature:
    """Return how much the question looks like a follow-up. Words that name rows or a figure of their own are a complete
    question, unless others point back."""
    cue, points = cue_strength(work.linked.tokens)
    is_complete = bool(work.facts("entity", "show", "metric")) and not points and len(work.linked.tokens) > 1
    return ("follow_cue", cue) if cue > 0 and not is_complete else ("follow_without_cue", 1.0)


def only_new(features: Features, before: Mapping[str, float]) -> Iterator[Feature]:
    """Yield the features without what the shape of the last frame already had."""
    for name, amount in features:
        new = amount - before.get(name, 0.0)
        if new:
            yield name, new


def list_changes(last: Frame, frame: Frame) -> tuple[str, ...]:
    """Return the slots that differ."""
    old, new = last.asked, frame.asked
    return tuple(dict.fromkeys(slot for part, slot in SLOTS.items() if getattr(old, part) != getattr(new, part)))


# How much a question looks like a follow-up --------------------------------------------------------------------------


def points_back(tokens: Sequence[Token]) -> bool:
    """Whether a word stands for the rows of the last answer, or a few words only say how to group it."""
    is_group = len(tokens) <= SHORT and any(each.kind == "group" for each in find_operators(tokens[:1]))
    return is_group or bool(find_pronouns(tokens))


def is_last_rows(fact: Fact) -> bool:
    """Whether a pronoun was read as the rows of the last answer."""
    return fact.kind == "define" and fact.text.casefold() in PRONOUNS


def cue_strength(tokens: Sequence[Token]) -> tuple[float, bool]:
    """Return how much the question looks like a follow-up (short, without a verb of its own), and whether it has a
    pointing word."""
    pointing = [span for span in list_spans(len(tokens)) if is_pointing(tokens[slice(*span)], span[0] == 0)]
    # "What about" asks nothing by itself.
    is_opener = any(start == 0 and end > 1 for start, end in pointing)
    asks = not is_opener and not QUESTION_WORDS.isdisjoint(token.lower for token in tokens[:2])
    brevity = 1.0 if len(tokens) <= SHORT else 0.5 if len(tokens) <= MEDIUM else 0.0
    return bool(pointing) + brevity - 0.5 * asks, bool(pointing)


def list_spans(length: int) -> Iterator[tuple[int, int]]:
    for start in range(length):
        yield from ((start, end) for end in range(start + 1, min(start + longest_operator(), length) + 1))


def is_pointing(tokens: Sequence[Token], is_first: bool) -> bool:
    """Whether words point to the last answer; "and" and "by" do only at the beginning."""
    found = {operator.value if operator.kind == "follow" else operator.kind for operator in find_operators(tokens)}
    return "points" in found or (is_first and not found.isdisjoint(("opens", "group")))


def has_word(work: Work, words: frozenset[str]) -> bool:
    return any(token.lower in words for token in work.linked.tokens)


def is_adding(work: Work) -> bool:
    """Whether the question adds to what was shown: "and status", "status too"."""
    return work.linked.tokens[0].lower in ("and", "和") or has_word(work, ADDING)


# What takes the place of what ----------------------------------------------------------------------------------------


def count_them(work: Work) -> None:
    """`how many of them ordered`: the last rows are counted, those that have what is named."""
    counted = [fact for fact in work.facts("metric") if fact.aggregate == "count"]
    if counted and not THEM.isdisjoint(pairwise(token.lower for token in work.linked.tokens)):
        exists = replace(counted[0], kind="exists", is_negated=bool(work.state.negates))
        replace_facts(work, counted[:1], exists)
        work.state = replace(work.state, counts=True, negates=0)


def replace_facts(work: Work, old: Sequence[Fact], *new: Fact) -> None:
    kept = tuple(fact for fact in work.state.facts if fact not in old)
    work.state = replace(work.state, facts=(*kept, *new))


def count_rows(work: Work) -> None:
    """`how many are there` counts the rows of the last answer, `show them` lists what it counted."""
    state, frame = work.state, work.frame()
    is_count = state.counts and not work.facts("metric")
    if not is_count and not is_listing(work):
        return
    rows = list_rows(frame, work.index)
    if rows is None or (is_count and frame.limit is not None):
        raise CannotFollow  # groups are not counted, and the number of the first five is known
    made = Work.from_frame(rows, state, work.linked)
    work.metrics, work.groups, work.columns, work.having, work.order, work.limit = [], [], [], [], [], None
    work.existence, work.filters, work.periods = made.existence, made.filters, made.periods


def is_listing(work: Work) -> bool:
    """Whether the question only says to show what the last answer counted."""
    is_bare = not (work.state.counts or work.state.facts or work.state.superlative)
    return is_bare and has_word(work, LISTING) and bool(work.metrics) and bool(work.having or not work.groups)


def change_figure(work: Work) -> None:
    """Another figure replaces the old one, which keeps its groups."""
    figures = [fact for fact in work.facts("group") if work.groups and work.index.is_measure(fact.target)]
    # "By quantity instead" ranks the same groups by another figure.
    replace_facts(work, figures, *(replace(fact, kind="metric", aggregate="sum") for fact in figures))
    if work.facts("metric") and not has_word(work, ADDING):
        work.order = work.order if work.metrics else []
        work.columns = work.columns if work.groups else []
        work.metrics = []


def total_rows(work: Work) -> None:
    """`what is the total` of rows that were listed: of what they are worth. "As a percentage of the total" asks for
    none."""
    state, worth = work.state, work.index.worth(work.subject)
    if work.facts("metric", "compute") or not state.aggregates:
        return
    if work.metrics:
        change_aggregate(work)
    elif worth:
        work.columns, work.order, work.limit = [], [], None
        fact = Fact("metric", len(work.linked.tokens), worth, state.aggregates[0])
        work.state = replace(state, aggregates=(), facts=(*state.facts, fact))


def change_aggregate(work: Work) -> None:
    """`average instead of total`: of the aggregates in the question, the new one counts. The total of a table of sums
    is their sum."""
    old, aggregates = work.metrics[0].aggregate, work.state.aggregates
    if old == "sum" and work.groups and set(aggregates) == {"sum"}:
        work.groups, work.order, work.limit = [], [], None
    elif not old.startswith("count"):
        others = [each for each in aggregates if each != old] or list(aggregates)
        work.metrics[0] = replace(work.metrics[0], aggregate=others[0])
    work.state = replace(work.state, aggregates=())


def change_columns(work: Work) -> None:
    """New columns take the place of the old ones, unless they are added."""
    if not work.facts("show"):
        return
    rows = list(row_refs(work.subject, work.index))
    if work.metrics and not work.groups and has_word(work, LISTING):
        work.metrics, work.columns = [], rows  # "list them with their email": the rows that were counted
    elif not work.metrics:
        work.columns = (work.columns or rows) if is_adding(work) else []


def change_groups(work: Work) -> None:
    """A new group takes the place of the old ones of its kind, time or other, unless it is added."""
    if work.state.superlative and work.is_table and not work.facts("group"):
        # "Which customers bought most": the last figure for each of the rows that are named.
        replace_facts(work, (), *(replace(fact, kind="group") for fact in work.named_entities[:1]))
    others = [*work.facts("group"), *(work.facts("show") if work.metrics else ())]
    if not others and not work.facts("grain"):
        return
    if has_word(work, REPLACING):
        work.groups = list_comparing_groups(work)
    elif not is_adding(work):
        work.groups = [each for each in work.groups if bool(each.grain) == bool(others)]
    work.columns = []


def list_comparing_groups(work: Work) -> list[Group]:
    """Return what tells compared periods apart, which stays with other groups: "and by channel instead"."""
    compares = any(period.others for period in work.periods) and not work.facts("grain")
    return [each for each in work.groups if each.grain] if compares else []


def change_conditions(work: Work) -> None:
    """A value takes the place of the value of its column, a period that of the period; what is excluded adds up."""
    new = [Filter(make_ref(fact.target, work.index), negate(fact.op, fact.is_negated)) for fact in work.facts("filter")]
    work.filters = [pair for pair in work.filters if not any(replaces(each, pair[0], work) for each in new)]
    work.existence = [without_replaced(each, new, work) for each in work.existence]
    is_compared = len(work.facts("period")) == 1 and bool(work.facts("compare"))
    if work.facts("period") and not is_compared:
        work.periods = []


def change_definitions(work: Work) -> None:
    """A taught word takes the place of its opposite: "and the inactive ones"."""
    for fact in work.facts("define"):
        meant = fact.fragment or Frame(work.subject)
        existence = [replace(each, is_negated=False) for each in meant.existence]
        conditions = {(each.of, each.values) for each in meant.filters}
        work.existence = [each for each in work.existence if replace(each, is_negated=False) not in existence]
        work.filters = [pair for pair in work.filters if (pair[0].of, pair[0].values) not in conditions]


def without_replaced(existence: Existence, new: Sequence[Filter], work: Work) -> Existence:
    kept = tuple(old for old in existence.filters if not any(replaces(each, old, work) for each in new))
    return replace(existence, filters=kept)


def replaces(new: Filter, old: Filter, work: Work) -> bool:
    """Whether a condition takes the place of an old one. A new first name replaces the whole old name."""
    label = work.index.tables[old.of.table].label
    person = set(label) if len(label) == 2 else set[str]()
    is_same = new.of.table == old.of.table and (
        new.of.column == old.of.column or {new.of.column, old.of.column} <= person
    )
    return is_same and not {new.op, old.op} <= EXCLUDING


def change_threshold(work: Work) -> None:
    """`only those with more than 3`: a condition on the figure, or on the number that was compared before."""
    state, op = work.state, negate(work.state.compare, False)
    compared = [at for at, (each, _) in enumerate(work.filters) if not each.is_text]
    if not op or not state.numbers:
        return
    if work.is_table:
        work.having = [Having(work.metrics[0], op, state.values)]
    elif compared:
        old, fact = work.filters[compared[0]]
        work.filters[compared[0]] = (replace(old, op=op, values=state.values), fact)
    if work.is_table or compared:
        work.state = replace(state, compare="", numbers=())


def change_order(work: Work) -> None:
    """`and the lowest?`, `highest first`, `the top 3`: another order or limit of the rows that there are."""
    state = work.state
    number = next((fact.number for fact in work.facts("limit")), None if state.compare else state.limit)
    if work.facts("superlative"):
        if work.metrics:
            raise CannotFollow
        work.order, work.limit = [], None
    elif work.facts("order"):
        work.order = []
    elif state.ordering:
        turn_order(work, number)
    elif number is not None and (work.limit or work.order):
        limit_rows(work, number)


def turn_order(work: Work, number: int | None) -> None:
    """Order the last rows the other way round; "the first one" of an ordered answer is its first row. The lowest value
    becomes the highest."""
    state = work.state
    if work.is_extreme:
        work.metrics = [replace(work.metrics[0], aggregate="max" if state.is_descending else "min")]
        work.state = replace(state, superlative="", order="")
    elif work.order and state.superlative == "first":
        limit_rows(work, number or 1)
    elif work.order:
        work.order = [replace(each, is_descending=state.is_descending) for each in work.order]
        work.with_ties = work.with_ties and number is None
        limit_rows(work, number or work.limit or int(bool(state.superlative)) or None)


def limit_rows(work: Work, limit: int | None) -> None:
    facts = tuple(fact for fact in work.state.facts if fact.kind != "limit")
    work.limit = limit
    work.state = replace(work.state, superlative="", order="", numbers=(), facts=facts)


RULES: tuple[Callable[[Work], None], ...] = (
    count_them, count_rows, change_figure, total_rows, change_columns, change_groups, change_conditions,
    change_definitions, change_threshold, change_order,
)  # fmt: skip
