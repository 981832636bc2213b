"""Ranking: one table of named features with hand-set weights, and the calibrated confidence.

The signs and rough sizes come from measurements (see the design notes); only the confidence is fitted, on databases
whose failures nobody reads.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

Feature = tuple[str, float]
Features = tuple[Feature, ...]

WEIGHTS: Mapping[str, float] = {
    # linking
    "imperfect_name": -4.8,  # per unit of missing score
    "imperfect_value": -4.0,
    "long_span": 0.7,  # per further word of a name or value
    "long_operator": 0.8,  # per further word of an operator
    "operator": 0.3,
    "taught": 2.0,
    "column_beside_value": 1.6,
    "column_beside_period": 1.0,
    "value_of_mentioned_table": 0.5,
    "value_of_namesake": -0.8,  # open orders are no orders of open customers
    "unknown_text": -2.5,
    "role_matched": 1.5,
    # leaving words out
    "skip": -1.7,
    "skip_strong": -1.7,
    "skip_linkable": -0.9,
    "skip_light": -0.3,
    "skip_operator": -2.0,
    "skip_negation": -2.0,
    "skip_comparison": -2.0,
    "noun_number": -4.0,  # "flight number of" is no count
    "skip_beyond": -6.0,
    # operators
    "left_over": -2.4,
    "operator_past_noun": -1.4,
    "count_then_column": -0.8,
    "ranked_nothing": -2.0,
    "measure_listed": -2.0,
    "flag_shown": -1.0,
    "flag_elsewhere": -1.5,
    "second_figure": -1.5,
    "counted_total": -1.2,  # "total sales" is seldom the number of sales
    "named_figure": 1.5,  # the model calls a figure so
    "counted_figure": -1.0,
    "counted_pieces": 1.6,  # takes back what a second or a counted figure costs
    "number_out_of_range": -2.5,
    "period_split": -1.0,
    "number_for_period": -2.0,  # "revenue in 2024" is no revenue of 2024
    "number_on_text": -3.0,
    "key_compared": -1.7,
    "key_as_measure": -1.8,
    "text_as_measure": -2.5,
    "superlative_of_text": -1.5,
    "both_unasked": -2.5,
    "counted_by_name": -1.5,  # how many rows there are of a single one
    "single_rows": -0.8,  # "spent over 1000" is about all that was spent
    "superlative_as_aggregate": -0.4,
    "price_summed": -0.6,
    "superlative_guessed": -1.4,
    "figure_guessed": -1.0,
    "moment_guessed": -0.2,
    "person_guessed": -0.3,
    "void_kept": -0.8,  # cancelled rows are added up too
    "other_moment": -1.0,
    "year_guessed": -0.1,
    "skip_taught": -4.0,
    "by_not_group": -0.8,
    "group_by_measure": -1.5,
    "ranked_across": -2.0,  # the groups, although something else was to be ranked in each of them
    "repeated_rows": -1.5,
    "group_by_row": -2.0,  # a figure of each single row
    "default_aggregate": -0.2,
    # position
    "shown_in_where": -1.3,
    "open_in_select": -1.0,
    "open_unused": -1.6,
    "owner_matches": 0.8,
    "owner_differs": -1.2,
    "shown_off_entity": -0.8,
    "other_owner": -1.2,  # a table that was named has a column of that name itself
    "foreign_key_shown": -1.6,
    "default_label": -0.3,
    "mixed_tables": -0.8,
    # shape
    "join": -0.4,
    "fan_out_join": -0.6,
    "ranked_by_parts": -2.0,
    "table_unused": -2.4,
    "existence_of_mention": 0.3,
    "parent_shown": -0.8,
    "existence_of_parent": -1.2,  # every row has one: the condition says nothing
    "plain_beside_aggregate": -1.4,
    "aggregate_grouped_by_entity": -0.2,
    "both_matched": 3.0,
    "year_column": 0.4,
    "parallel_guessed": -0.6,
    "definition_missed": -6.0,
    "definition_unsure": -1.0,
    "definition_elsewhere": -1.0,  # a state of rows that were not named
    # follow-ups
    "follow_cue": 1.2,
    "follow_without_cue": -1.6,
    "follow_unsure": -0.1,  # nobody has taken the last reading yet
    "repeats_last": -1.0,  # the rows of the last answer, and nothing more
    "conditions_dropped": -1.5,  # all rows, after an answer about some of them
    "follow_ignored": -2.0,  # "they" stands for the rows of the last answer
    # results
    "empty_result": -2.8,
    "null_result": -2.0,
}


def score(features: Iterable[Feature]) -> float:
    """Return the weighted sum of the features."""
    return sum(WEIGHTS[name] * amount for name, amount in features)


# Fitted by `python -m bench.ask spider defog FOLDER... --fit` on databases whose failures nobody reads: logistic
# regression with fixed signs. Follow-ups are left at 0: in the fit many of them follow a wrong answer.
CALIBRATION: Mapping[str, float] = {
    "bias": 0.414, "margin": 0.544, "definitions": -0.683, "alone": -0.446, "unexplained": -0.472, "guesses": -0.211,
    "cost": -0.433, "support": 0.302, "left_over": -0.792, "joins": 0.0, "conditions": -0.13, "doubts": -0.135,
    "default_aggregate": -0.12, "follow_up": 0.0, "empty": -0.263,
}  # fmt: skip
HIGHEST = 0.99  # 1.0 is only for a vetted query that is repeated


def confidence(signals: Mapping[str, float]) -> float:
    """Return the calibrated probability that the first candidate is right."""
    total = CALIBRATION["bias"] + sum(CALIBRATION.get(name, 0.0) * value for name, value in signals.items())
    return min(HIGHEST, 1 / (1 + math.exp(-total)))
