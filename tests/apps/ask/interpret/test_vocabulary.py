"""What users taught, and the session: tiers, meanings in words, default filters."""

from __future__ import annotations

from recollect.apps.ask.interpret import DefaultFilter, Vocabulary, Word
from tests.apps.ask.interpret.interpret_shop import Shop, names

LOGIN = Word(("active",), "user", table="customers", meaning="last login in the last 30 days")


def test_taught_meaning_wins_over_a_column(shop: Shop) -> None:
    assert names(shop.rows("list active customers", vocabulary=Vocabulary((LOGIN,)))) == {"Ada", "Ben"}


def test_higher_tier_replaces_a_lower_one(shop: Shop) -> None:
    project = Word(("active",), "project", table="customers", condition="country = 'Spain'")
    assert names(shop.rows("list active customers", vocabulary=Vocabulary((project,)))) == {"Dan"}
    assert names(shop.rows("list active customers", vocabulary=Vocabulary((project, LOGIN)))) == {"Ada", "Ben"}


def test_meaning_without_sql_is_not_replaced_by_a_column(shop: Shop) -> None:
    vague = Word(("active",), "user", table="customers", meaning="the ones we like")
    decision = shop.ask("how many active customers", vocabulary=Vocabulary((vague,)))
    assert decision.kind in ("choices", "unclear")
    assert "active" in decision.unexplained
    assert not any("is_active" in str(each.frame) for each in decision.candidates)


def test_taught_name_of_a_table(shop: Shop) -> None:
    words = Vocabulary((Word(("clients",), "user", target="customers"),))
    assert shop.rows("how many clients are there?", vocabulary=words) == [(4,)]


def test_default_filter_applies_and_is_named(shop: Shop) -> None:
    words = Vocabulary(filters=(DefaultFilter("orders", "status = 'paid'", "only paid orders"),))
    best = shop.best("how many orders are there?", vocabulary=words)
    assert shop.run(best.sql) == ((3,),)
    assert best.assumptions == ("only paid orders",)


def test_default_filter_yields_to_the_question(shop: Shop) -> None:
    words = Vocabulary(filters=(DefaultFilter("orders", "status = 'paid'", "only paid orders"),))
    assert shop.rows("how many orders have status open?", vocabulary=words) == [(1,)]


def test_session_focus_is_the_period(shop: Shop) -> None:
    assert shop.rows("how many orders are there?", vocabulary=Vocabulary(focus="last year")) == [(2,)]


def test_meaning_that_is_read_in_part_is_asked_about(shop: Shop) -> None:
    big = Word(("big",), "user", table="customers", meaning="> 80 fortnightly spend")
    decision = shop.ask("list big customers", vocabulary=Vocabulary((big,)))
    assert decision.kind in ("choices", "unclear")


def test_fiscal_years_that_no_calendar_year_tells_apart_are_not_compared_by_year(shop: Shop) -> None:
    fiscal = Vocabulary((Word(("fiscal year",), "user", meaning="starts in October"),))
    assert shop.ask("total amount of orders this fiscal year", vocabulary=fiscal).kind != "choices"
    decision = shop.ask("compare the amount of orders of this fiscal year and last fiscal year", vocabulary=fiscal)
    assert decision.kind == "choices"
    assert shop.ask("compare the total amount of orders of 2024 and 2025").candidates[0].frame.groups
