"""Follow-ups: which messages depend on the one before, which words they take from it, and what holds for any text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.recall.followup import MAX_CHARS, OPENING_WORDS, make_standalone
from recollect.recall.lexemes import lexemes
from recollect.values.text import is_cjk

ENGLISH = [
    (["sales by region for 2024"], "what about 2023?", "sales by region for 2023"),
    (["sales by region for 2024", "what about 2023?"], "and by month?", "sales by region for 2023 by month"),
    (["What is the weather in London tomorrow?"], "and in Paris?", "What is the weather in Paris tomorrow?"),
    (["How many orders did we ship in May 2023?"], "and June?", "How many orders did we ship in June 2023?"),
    (["What discounts do we have for employees?"], "and for clients?", "What discounts do we have for clients?"),
    (["When is Anna's birthday?"], "and Bob's?", "When is Bob's birthday?"),
    (["What does the blue toner cost?"], "and the black one?", "What does the black toner cost?"),
    (
        ["What is the delivery time of the blue toner?"],
        "or the black one?",
        "What is the delivery time of the black toner?",
    ),
    (["flights from Paris to Rome"], "and to London?", "flights from Paris to London"),
    (["sales last year", "thanks!"], "what about 2022?", "sales 2022"),
    (["total sales in 2024"], "what about profit?", "total sales in 2024 profit"),
    (["show the top 10 products by revenue"], "only the top 5", "show the top 5 products by revenue"),
    (["What does section 4 of the contract say?"], "and section 5?", "What does section 5 of the contract say?"),
    (["revenue for Acme in 2023", "and Globex?"], "same for 2024", "revenue for Globex in 2024"),
    (["show orders from last week"], "without test accounts", "show orders from last week without test accounts"),
    (["Who is Ada Lovelace?"], "how old was she?", "Ada Lovelace: how old was she?"),
    (["What is the refund policy?"], "does it cover shipping?", "the refund policy: does it cover shipping?"),
    (["Which customers churned in 2024?"], "show them by region", "customers churned in 2024: show them by region"),
    (
        ["Compare the Pixel 8 and the iPhone 15"],
        "which is cheaper?",
        "the Pixel 8 and the iPhone 15: which is cheaper?",
    ),
]
CHINESE = [
    (["上海的销售额是多少？"], "那北京呢？", "北京的销售额是多少？"),
    (["2024年各地区的销售额", "那2023年呢"], "按月呢", "2023年各地区的销售额，按月"),
    (["查一下北京的订单数"], "换成上海", "查一下上海的订单数"),
    (["iPhone 15有什么颜色？"], "它多少钱？", "iPhone 15多少钱？"),
    (["我妹妹喜欢吃什么？"], "我哥哥呢？", "我哥哥喜欢吃什么？"),
    (["第三章讲了什么？"], "那第四章呢？", "第四章讲了什么？"),
    (["去年的退货率"], "不含电子产品", "去年的退货率，不含电子产品"),
    (["哪些客户今年流失了？"], "他们在哪个城市？", "哪些客户今年流失了：在哪个城市？"),
]
ALONE = [
    "why?",
    "thanks, that's great",
    "remember that our fiscal year starts in April",
    "How many employees work in Berlin?",
    "And what is the capital of France?",
    "What time is it?",
    "Is it possible to export a report to PDF?",
    "When Tom called, what did he want?",
    "how about we meet on Friday",
    "what about the holiday plans for December?",
    "revenue in 2023 by month",
    "but Anna lives in Rome",
    "How do I make a table and sort it by date?",
    "Which is better, tea or coffee?",
    "I told him about it yesterday",
    "No, in March.",
    "为什么？",
    "谢谢",
    "我住在北京",
    "公司有多少员工？",
    "你觉得呢？",
    "人呢？",
]
NO_TOPIC = [
    ([], "what about 2023?"),
    (["hello"], "what about 2023?"),
    (["I love sushi"], "what about ramen?"),
    (["is it ready?"], "when will it be?"),
    (["sales by region for 2024"], "how old is she?"),
    (["Who is Tom?"], "what about him?"),
    (["sales in London"], "what about the weather in Paris?"),
    (["上海的销售额"], "那北京的天气呢"),
    (["sales in Paris"], "那上海呢？"),
]
BASES = sorted({previous[0] for previous, _, _ in (*ENGLISH, *CHINESE)})
QUESTIONS = [question for _, question, _ in (*ENGLISH, *CHINESE)]


@pytest.mark.parametrize(("previous", "question", "text"), [*ENGLISH, *CHINESE])
def test_followup_takes_words_from_earlier_question(previous: list[str], question: str, text: str) -> None:
    assert make_standalone(question, previous) == text


@pytest.mark.parametrize("question", ALONE)
def test_question_of_its_own_is_left_alone(question: str) -> None:
    rewritten = {base: make_standalone(question, [base]) for base in BASES}

    assert {base: text for base, text in rewritten.items() if text != question} == {}


@pytest.mark.parametrize(("previous", "question"), NO_TOPIC)
def test_question_without_matching_topic_is_left_alone(previous: list[str], question: str) -> None:
    assert make_standalone(question, previous) == question


@pytest.mark.parametrize("aside", ["thanks!", "why?", "好的，谢谢", "remember that our fiscal year starts in April"])
def test_asides_do_not_end_a_topic(aside: str) -> None:
    messages = ["sales by region for 2024", "what about 2023?", aside]

    assert make_standalone("and by month?", messages) == "sales by region for 2023 by month"
    assert make_standalone("and in Paris?", [*messages, "Is it raining in London?"]) == "Is it raining in Paris?"


def test_chain_is_the_same_from_original_and_rewritten_messages() -> None:
    original: list[str] = []
    rewritten: list[str] = []
    for question in ("sales in Italy in 2020", "what about Spain?", "and 2021?", "by month", "and Portugal?"):
        rewritten.append(make_standalone(question, rewritten))
        assert make_standalone(question, original) == rewritten[-1]
        original.append(question)
    assert rewritten[-1] == "sales in Portugal in 2021 by month"


@given(st.text(max_size=60), st.lists(st.text(max_size=60) | st.sampled_from(BASES), max_size=4))
def test_any_text_gives_a_bounded_text(question: str, previous: list[str]) -> None:
    assert len(make_standalone(question, previous)) <= 3 * MAX_CHARS


@given(st.sampled_from(QUESTIONS), st.sampled_from(BASES))
def test_rewritten_question_is_not_rewritten_again(question: str, base: str) -> None:
    text = make_standalone(question, [base])

    assert make_standalone(text, [base]) == text
    assert make_standalone(text, [base, text]) == text


@given(st.sampled_from([question for question in QUESTIONS if not is_cjk(question)]), st.sampled_from(BASES))
def test_own_words_are_always_kept(question: str, base: str) -> None:
    text = make_standalone(question, [base])

    assert lexemes(question).keys() - lexemes(text).keys() <= OPENING_WORDS


def test_topic_in_front_does_not_grow_with_every_question() -> None:
    messages = ["How do I reset the router?", "how long does it take?"]

    assert make_standalone("can it be undone?", messages) == "reset the router: can it be undone?"


def test_pasted_page_is_no_followup_and_has_none() -> None:
    page = "sales by region for 2024 " * 40

    assert make_standalone(f"what about {page}?", ["sales by region for 2024"]) == f"what about {page}?"
    assert make_standalone("what about 2023?", [page]) == "what about 2023?"


def test_question_in_another_language_is_left_alone() -> None:
    assert is_cjk(make_standalone("那上海呢？", ["sales in Paris", "北京的销售额"]))
    assert make_standalone("那上海呢？", ["北京的销售额", "sales in Paris"]) == "那上海呢？"
