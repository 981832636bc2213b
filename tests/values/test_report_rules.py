"""A report's verdicts: each number against its limit, what is not measured, and days on which nobody asked."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from recollect.values.report import (
    LATENCY_STEPS,
    Day,
    Report,
    ReportCounts,
    Rule,
    Totals,
    Unit,
    Verdict,
    describe_totals,
    evaluate_report,
    format_value,
    get_period,
    load_rules,
    measure_rule,
)

NOON = datetime(2026, 5, 7, 12, tzinfo=UTC)
TRIGGERS, GOALS = load_rules()
RULES = {rule.name: rule for rule in (*TRIGGERS, *GOALS)}


def report(totals: Totals, *days: Day, **named: dict[str, int]) -> Report:
    since, until = get_period(NOON, 7)
    return evaluate_report("shop", since, until, ReportCounts(totals, days, named))


@pytest.mark.parametrize(
    ("name", "totals", "value", "expected"),
    [
        ("fewer than 3 hits by words", Totals(requests=100, few_words=30), 0.3, "ok"),
        ("fewer than 3 hits by words", Totals(requests=100, few_words=31), 0.31, "over"),
        ("fallback", Totals(requests=100, fallback=50), 0.5, "ok"),
        ("fallback", Totals(requests=100, fallback=60), 0.6, "over"),
        ("only summaries in the context", Totals(requests=100, contexts=100, summaries_only=30), 0.3, "over"),
        ("only summaries in the context", Totals(requests=100, contexts=100, summaries_only=20), 0.2, "ok"),
        ("truncated", Totals(requests=100, contexts=100, truncated=50), 0.5, "over"),
        ("truncated", Totals(requests=100, contexts=100, truncated=40), 0.4, "ok"),
        ("only vectors found it", Totals(requests=100, only_vectors=20), 0.2, "over"),
        ("only vectors found it", Totals(requests=100, only_vectors=10), 0.1, "ok"),
        ("fallback", Totals(requests=29, fallback=29), 1.0, "too few"),
        ("requests that used memory", Totals(requests=29), 0.0, "too few"),
        ("p95 of a request", Totals(requests=30, whole_p95=3000), 3, "ok"),
        ("p95 of a request", Totals(requests=30, whole_p95=3001), 3.001, "over"),
        ("complaints", Totals(requests=10), 0, "ok"),
        ("complaints", Totals(corrections=2, thumbs_down=1, reproaches=1), 4, "over"),
        ("complaints", Totals(corrections=4, weeks=2), 2, "ok"),
        ("summaries' share of what models cost", Totals(requests=10), None, "not measured"),
        ("summaries' share of what models cost", Totals(reply_ms=700, summary_ms=300, llm_timed=9), 0.3, "too few"),
        (
            "summaries' share of what models cost",
            Totals(reply_ms=700, summary_ms=300, llm_timed=29, summaries=1),
            0.3,
            "over",
        ),
        ("requests that used memory", Totals(requests=100, hit=70), 0.7, "ok"),
        ("requests that used memory", Totals(requests=100, hit=60), 0.6, "under"),
        ("questions per session", Totals(conversations=30, questions=120), 4, "ok"),
        ("questions per session", Totals(conversations=30, questions=45), 1.5, "under"),
        ("follow-ups that memory helped", Totals(follow_ups=50, follow_ups_helped=40), 0.8, "ok"),
        ("follow-ups that memory helped", Totals(follow_ups=50, follow_ups_helped=30), 0.6, "under"),
        ("p95 that memory adds", Totals(requests=30, retrieval_p95=50), 50, "ok"),
        ("p95 that memory adds", Totals(requests=30, retrieval_p95=51), 51, "over"),
        ("p95 that memory adds", Totals(requests=2, retrieval_p95=254), 254, "too few"),
        ("questions per session", Totals(conversations=3, questions=11), 11 / 3, "too few"),
        ("user satisfaction", Totals(requests=10), None, "not measured"),
    ],
)
def test_each_number_is_judged_against_its_limit(
    name: str, totals: Totals, value: float | None, expected: Verdict
) -> None:
    gauge = measure_rule(RULES[name], totals)

    assert gauge.value == pytest.approx(value)
    assert gauge.verdict == expected


def test_without_requests_nothing_is_measured_and_nothing_divided_by_zero() -> None:
    told = report(Totals())

    gauges = (*told.triggers, *told.goals)
    assert {gauge.verdict for gauge in gauges if gauge.name != "complaints"} == {"not measured"}
    assert not told.is_over
    assert describe_totals(told.totals)["retrieval"] == "not measured"


def test_every_trigger_says_what_it_argues_for_and_every_gauge_how_it_is_measured() -> None:
    assert [rule.name for rule in TRIGGERS if not (rule.argues_for and rule.note and rule.meaning)] == []
    assert [rule.name for rule in GOALS if not (rule.note and rule.meaning)] == []
    assert len(RULES) == len(TRIGGERS) + len(GOALS)


def test_one_trigger_that_is_over_makes_the_report_say_so() -> None:
    assert report(Totals(requests=100, fallback=90)).is_over
    assert not report(Totals(requests=100, hit=00)).is_over


@pytest.mark.parametrize(
    ("totals", "note"),
    [
        (Totals(), "nothing was asked"),
        (Totals(requests=29, llm_timed=1), "fewer than 30 requests"),
        (Totals(requests=30), "no request timed its model"),
        (Totals(requests=30, llm_timed=1, parked=2), "2 conversations are parked: see `recollect work status`"),
    ],
)
def test_what_makes_numbers_doubtful_is_noted(totals: Totals, note: str) -> None:
    assert [told[: len(note)] for told in report(totals).notes] == [note]


def test_days_without_a_request_are_there_too() -> None:
    told = report(Totals(), Day(date(2026, 5, 3), requests=4), Day(date(2026, 5, 7), requests=2))

    assert [(day.day.day, day.requests) for day in told.days] == [
        (1, 0),
        (2, 0),
        (3, 4),
        (4, 0),
        (5, 0),
        (6, 0),
        (7, 2),
    ]


@pytest.mark.parametrize("hours", [-11, 0, 14])
def test_the_period_has_whole_days_in_utc_wherever_the_clock_stands(hours: int) -> None:
    now = NOON.astimezone(timezone(timedelta(hours=hours)))

    assert get_period(now, 1) == (datetime(2026, 5, 7, tzinfo=UTC), NOON)
    assert get_period(now, 7)[0] == datetime(2026, 5, 1, tzinfo=UTC)


def test_latencies_have_every_step_in_order() -> None:
    told = report(Totals(), latency={"0": 3, "9": 1})

    assert list(told.latencies.values()) == [3, *[0] * 8, 1]
    assert next(iter(told.latencies)) == f"< {LATENCY_STEPS[0]} ms"
    assert list(told.latencies)[-1] == "3,000 ms and more"


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (None, "share", "–"),
        (0.305, "share", "30.5%"),
        (1234, "ms", "1,234 ms"),
        (0.25, "s", "0.25 s"),
        (4, "per session", "4.0 per session"),
    ],
)
def test_numbers_are_shown_with_their_unit(value: float | None, unit: Unit, text: str) -> None:
    assert format_value(value, unit) == text


def test_a_value_at_its_limit_is_well_either_way() -> None:
    rules = [Rule("x", 3, "per week", "", "requests", at_least=at_least) for at_least in (False, True)]
    assert [measure_rule(rule, Totals(requests=3)).verdict for rule in rules] == ["ok", "ok"]
