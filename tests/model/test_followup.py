"""Follow-ups: what is rewritten, what is left alone, and what holds of any question."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.model.followup import MOST_CHARS, followup
from recollect.model.followup_fill import Swap
from recollect.model.followup_words import OPENING_WORDS
from recollect.model.text import is_cjk, lexemes

ENGLISH = [
    (["sales by region for 2024"], "what about 2023?", "sales by region for 2023"),
    (["sales by region for 2024", "what about 2023?"], "and by month?", "sales by region for 2023 by month"),
    (["What is the weather in London tomorrow?"], "and in Paris?", "What is the weather in Paris tomorrow?"),
    (["How many orders did we ship in May 2023?"], "how about last year?", "How many orders did we ship last year?"),
    (["How many orders did we ship in May 2023?"], "and June?", "How many orders did we ship in June 2023?"),
    (
        ["revenue by product for the south region in 2024"],
        "same for the north region",
        "revenue by product for the north region in 2024",
    ),
    (["Which customers bought the most in 2024?"], "only the top 5", "Which customers bought the most in 2024, top 5?"),
    (["show the top 10 products by revenue"], "only the top 5", "show the top 5 products by revenue"),
    (["show revenue by region"], "by month instead", "show revenue by month"),
    (["What discounts do we have for employees?"], "and for clients?", "What discounts do we have for clients?"),
    (["Who is Ada Lovelace?"], "how old was she?", "how old was Ada Lovelace?"),
    (["Which customers churned in 2024?"], "show them by region", "show customers churned in 2024 by region"),
    (["What does my sister do?"], "how old is she?", "how old is my sister?"),
    (["What is the refund policy?"], "does it cover shipping?", "does the refund policy cover shipping?"),
    (["How do I reset the router?"], "how long does it take?", "reset the router: how long does it take?"),
    (
        ["Compare the Pixel 8 and the iPhone 15"],
        "which is cheaper?",
        "the Pixel 8 and the iPhone 15: which is cheaper?",
    ),
    (["hotels in Rome"], "any cheaper ones?", "any cheaper hotels in Rome?"),
    (["How old is Anna?"], "what about Bob?", "How old is Bob?"),
    (["When is Anna's birthday?"], "and Bob's?", "When is Bob's birthday?"),
    (["flights from Paris to Rome"], "and to London?", "flights from Paris to London"),
    (["total sales in 2024"], "what about profit?", "total profit in 2024"),
    (["monthly revenue for 2024"], "and weekly?", "weekly revenue for 2024"),
    (["sales in Q1 2024"], "Q2?", "sales in Q2 2024"),
    (["sales last year", "thanks!"], "what about 2022?", "sales in 2022"),
    (
        ["What is the refund policy for books?"],
        "and for digital goods?",
        "What is the refund policy for digital goods?",
    ),
    (
        ["average order value per customer in Germany"],
        "what about france?",
        "average order value per customer in france",
    ),
    (["show orders from last week"], "without test accounts", "show orders from last week without test accounts"),
    (["Which employees joined in 2021?"], "how many of them left?", "how many of employees joined in 2021 left?"),
    (["Did Marie Curie live in Paris?"], "what did she discover?", "what did Marie Curie discover?"),
    (["list the suppliers in Spain"], "sorted by name", "list the suppliers in Spain, sorted by name"),
    (["number of signups in March"], "and April?", "number of signups in April"),
    (["What was our churn in Q3 2023?"], "how about Q4?", "What was our churn in Q4 2023?"),
    (["What was our churn in Q3 2023?"], "and in 2022?", "What was our churn in Q3 2022?"),
    (
        ["Show me orders by country for this month"],
        "by product category instead",
        "Show me orders by product category for this month",
    ),
    (["Show me orders by country for this month"], "same for last month", "Show me orders by country for last month"),
    (["Who is the CEO of Siemens?"], "what about Bosch?", "Who is the CEO of Bosch?"),
    (["How tall is Mont Blanc?"], "And Everest?", "How tall is Everest?"),
    (["list the 10 largest customers"], "just the top 3", "list the top 3 customers"),
    (["Where does Sofia work?"], "when did she start?", "when did Sofia start?"),
    (["Where does my boss live?"], "what is his phone number?", "what is my boss's phone number?"),
    (
        ["What is the warranty on the X200 laptop?"],
        "how much does it cost?",
        "the warranty on the X200 laptop: how much does it cost?",
    ),
    (["Which stores lost money last quarter?"], "where are they?", "where are stores lost money last quarter?"),
    (["Show unpaid invoices for Acme"], "group them by month", "group unpaid invoices for Acme by month"),
    (
        ["Compare MySQL and PostgreSQL for analytics"],
        "which one is faster?",
        "MySQL and PostgreSQL for analytics: which one is faster?",
    ),
    (["find restaurants near the station"], "cheaper ones?", "cheaper restaurants near the station?"),
    (["average salary in Munich"], "ok and in hamburg?", "average salary in hamburg"),
    (["sales in Italy in 2020", "what about Spain?", "and 2021?"], "and Portugal?", "sales in Portugal in 2021"),
    (["How many active users do we have?"], "what about trial users?", "How many trial users do we have?"),
    (["revenue for premium customers"], "excluding returns", "revenue for premium customers excluding returns"),
    (["top 5 salespeople by revenue"], "what about the bottom 5?", "bottom 5 salespeople by revenue"),
    (["daily active users last week"], "and monthly?", "monthly active users last week"),
    (["What did Tom say about the budget?"], "and about the schedule?", "What did Tom say about the schedule?"),
    (["What does section 4 of the contract say?"], "and section 5?", "What does section 5 of the contract say?"),
    (
        ["What was the average basket size in Spain in 2022?"],
        "and for Italy?",
        "What was the average basket size in Italy in 2022?",
    ),
    (
        ["What was the average basket size in Spain in 2022?"],
        "How about the year 2021?",
        "What was the average basket size in Spain in 2021?",
    ),
    (["complaints per store in January"], "What about february", "complaints per store in february"),
    (["Which department has the highest costs?"], "and the lowest?", "Which department has the lowest costs?"),
    (["total revenue this year"], "compared to last year?", "total revenue this year, compared to last year"),
    (["number of tickets per agent this week"], "now do last week", "number of tickets per agent last week"),
    (["Who is our contact at Globex?"], "what is her email?", "what is our contact at Globex's email?"),
    (["Where did Maria go on holiday?"], "who did she go with?", "who did Maria go with?"),
    (["Did I tell you about my new bike?"], "what colour is it?", "my new bike: what colour is it?"),
    (["Which invoices are overdue?"], "how many are there?", "invoices are overdue: how many are there?"),
    (
        ["Which invoices are overdue?"],
        "and which of them are from Acme?",
        "and which of invoices are overdue are from Acme?",
    ),
    (["list all open projects"], "only those in Berlin", "list all open projects in Berlin"),
    (["list all open projects"], "just the ones from 2023", "list all open projects from 2023"),
    (["What does clause 12 say?"], "What about clause 14?", "What does clause 14 say?"),
    (["revenue by country 2024"], "top 10 only", "revenue by country 2024, top 10"),
    (["revenue by country 2024"], "show it as a bar chart", "revenue by country 2024: show it as a bar chart"),
    (["revenue by country 2024"], "per quarter please", "revenue per quarter 2024"),
    (["revenue by country 2024"], "in euros", "revenue by country 2024 in euros"),
    (["How many people live in Norway?"], "and what about Sweden?", "How many people live in Sweden?"),
    (["What's my brother's phone number?"], "and my mom's?", "What's my mom's phone number?"),
    (["What is Tom allergic to?", "How old is Lucy?"], "and him?", "How old is Tom?"),
    (
        ["How many returns did we get in Poland last month?"],
        "and in Austria?",
        "How many returns did we get in Austria last month?",
    ),
    (
        ["How many returns did we get in Poland last month?"],
        "What about two months ago?",
        "How many returns did we get in Poland two months ago?",
    ),
    (["average delivery time per carrier"], "just DHL", "average delivery time per carrier, DHL"),
    (["average delivery time per carrier"], "split by week", "average delivery time split by week"),
    (["Which products sold best in December 2022?"], "and in November?", "Which products sold best in November 2022?"),
    (["Which products sold best in December 2022?"], "and worst?", "Which products sold worst in December 2022?"),
    (["When does the lease end?"], "can it be extended?", "the lease end: can it be extended?"),
    (
        ["Who manages the Lyon office?"],
        "how long has she been there?",
        "Who manages the Lyon office: how long has she been there?",
    ),
    (["Who is Peter's wife?"], "where does she work?", "where does Peter's wife work?"),
    (["show the 20 newest orders"], "only the 5 newest", "show the 5 newest orders"),
    (["show the 20 newest orders"], "those from Germany", "show the 20 newest orders from Germany"),
    (["list employees with salaries above 50000"], "above 80000", "list employees with salaries above 80000"),
    (
        ["list employees with salaries above 50000"],
        "sort them by name",
        "sort employees with salaries above 50000 by name",
    ),
    (["Does the premium plan include support?"], "and the basic plan?", "Does the basic plan include support?"),
    (
        ["Does the premium plan include support?"],
        "how much is it?",
        "the premium plan include support: how much is it?",
    ),
    (["What is the capital of Peru?"], "of Chile?", "What is the capital of Chile?"),
    (["revenue for Acme in 2023", "and Globex?"], "same for 2024", "revenue for Globex in 2024"),
    (["churn rate by plan"], "exclude trial accounts", "churn rate by plan, exclude trial accounts"),
    (["show revenue by region"], "also by product", "show revenue by region by product"),
    (["show revenue by region"], "show me that for 2023", "show revenue by region for 2023"),
    (["monthly revenue for 2024"], "by week instead", "weekly revenue for 2024"),
    (["Did Tom read the report?"], "what did he say about it?", "Tom read the report: what did he say about it?"),
    (["sales by region for 2024"], "compare it with 2023", "sales by region for 2024: compare it with 2023"),
    (["sales in May last year"], "and in June?", "sales in June last year"),
    (["Sales in Paris in May 2023"], "this month?", "Sales in Paris this month"),
]
CHINESE = [
    (["上海的销售额是多少？"], "那北京呢？", "北京的销售额是多少？"),
    (["2024年各地区的销售额"], "那2023年呢", "2023年各地区的销售额"),
    (["2024年各地区的销售额", "那2023年呢"], "按月呢", "2023年各地区的销售额，按月"),
    (["查一下北京的订单数"], "换成上海", "查一下上海的订单数"),
    (["销量最高的产品有哪些？"], "只看前五", "销量最高的产品有哪些，前五？"),
    (["按月统计2023年的利润"], "按季度呢？", "按季度统计2023年的利润"),
    (["iPhone 15有什么颜色？"], "它多少钱？", "iPhone 15多少钱？"),
    (["张伟住在哪里？"], "他多大了？", "张伟多大了？"),
    (["我妹妹喜欢吃什么？"], "我哥哥呢？", "我哥哥喜欢吃什么？"),
    (["今年的收入是多少"], "去年呢", "去年的收入是多少"),
    (["销售额前十的门店"], "前五呢", "销售额前五的门店"),
    (["上个月的退货率"], "成本呢？", "上个月的成本"),
    (["5月的订单量"], "6月呢？", "6月的订单量"),
    (["广州2023年的利润"], "深圳呢？", "深圳2023年的利润"),
    (["广州2023年的利润", "深圳呢？"], "那2022年呢？", "深圳2022年的利润"),
    (["按产品统计销售额"], "改成按地区", "按地区统计销售额"),
    (["本月新增用户有多少？"], "上个月呢？", "上个月新增用户有多少？"),
    (["第一季度的营收"], "那第二季度呢", "第二季度的营收"),
    (["这款手机支持5G吗？"], "它防水吗？", "这款手机防水吗？"),
    (["李娜在哪个部门？"], "她的邮箱是什么？", "李娜的邮箱是什么？"),
    (["列出订单最多的客户"], "只要前三名", "列出订单最多的客户，前三名"),
    (["我爸爸的生日是哪天？"], "我妈妈呢", "我妈妈的生日是哪天？"),
    (["华东区的订单数"], "华南区呢", "华南区的订单数"),
    (["员工的请假规定是什么？"], "那供应商呢？", "供应商的请假规定是什么？"),
    (["杭州明天天气怎么样"], "后天呢", "杭州后天天气怎么样"),
    (["深圳上个月的订单量是多少？"], "那这个月呢？", "深圳这个月的订单量是多少？"),
    (["哪些客户今年流失了？"], "他们在哪个城市？", "哪些客户今年流失了：他们在哪个城市？"),
    (["列出2024年销售额前10的产品"], "换成前20", "列出2024年销售额前20的产品"),
    (["王芳的生日是什么时候？"], "她住在哪里？", "王芳住在哪里？"),
    (["日本的人口是多少"], "韩国呢", "韩国的人口是多少"),
    (["退款政策是什么？"], "它适用于电子产品吗？", "退款政策适用于电子产品吗？"),
    (["第三章讲了什么？"], "那第四章呢？", "第四章讲了什么？"),
    (["各部门的平均工资"], "只看销售部", "各部门的平均工资，销售部"),
    (["成都的门店有几家？"], "重庆呢？", "重庆的门店有几家？"),
    (["李明喜欢什么运动？"], "张强呢？", "张强喜欢什么运动？"),
    (["本月的访问量"], "按天看", "本月的访问量，按天"),
    (["苏州的员工人数"], "无锡的呢？", "无锡的员工人数"),
    (["2022年第三季度的营收是多少？"], "第四季度呢？", "2022年第四季度的营收是多少？"),
    (["每个门店的日均销量"], "按城市看呢", "每个门店的日均销量，按城市"),
    (["刘洋负责哪个项目？"], "她什么时候入职的？", "刘洋什么时候入职的？"),
    (["MacBook Air多重？"], "它的屏幕多大？", "MacBook Air的屏幕多大？"),
    (["我女儿的学校在哪里？"], "儿子呢？", "儿子的学校在哪里？"),
    (["销售额最高的城市是哪个？"], "最低的呢？", "销售额最低的城市是哪个？"),
    (["去年的退货率"], "不含电子产品", "去年的退货率，不含电子产品"),
    (["王芳多大了？", "李雷住在哪里？"], "她呢？", "王芳住在哪里？"),
    (["上海的天气怎么样"], "那北京的天气呢", "北京的天气怎么样"),
    (["上海的销售额"], "北京？", "北京的销售额"),
]
# Whatever was asked before.
ALONE = [
    "why?",
    "thanks, that's great",
    "hello",
    "remember that our fiscal year starts in April",
    "How many employees work in Berlin?",
    "And what is the capital of France?",
    "What time is it?",
    "Is it raining in Paris?",
    "When Tom called, what did he want?",
    "Who wrote Faust?",
    "What does my sister like to eat?",
    "how about we meet on Friday",
    "Call me Alex",
    "I live in Paris",
    "Write a poem about the sea",
    "If a customer returns an item, how is it refunded?",
    "Is it possible to export a report to PDF?",
    "revenue in 2023 by month",
    "Is Python faster than Java?",
    "为什么？",
    "谢谢",
    "我住在北京",
    "记住我们的财年从四月开始",
    "公司有多少员工？",
    "你觉得呢？",
    "北京的天气怎么样？",
    "你好",
    "ok",
    "how so?",
    "good morning!",
    "What is the average salary in Munich?",
    "Please always answer in German",
    "forget what I said about Lisbon",
    "How do I make a table and sort it by date?",
    "Does Tom know where his keys are?",
    "My dentist is Dr. Miller",
    "what should I cook tonight?",
    "So what is our refund policy?",
    "Is it worth learning Rust?",
    "how long does it take to fly to Tokyo?",
    "What about when I asked you to book a flight to Oslo, did you?",
    "who is taller, Anna or Bob?",
    "Only members can edit this page",
    "By the way, what is our office address?",
    "In 2019 I moved to Lisbon",
    "do you remember my birthday?",
    "that's not what I asked",
    "yes please",
    "For dinner I would like pizza",
    "好的",
    "今天几号？",
    "以后请用中文回答",
    "那家餐厅叫什么名字？",
    "我在上海工作",
    "怎么重置密码？",
    "真的吗？",
    "换个话题吧",
    "what about the holiday plans for December?",
    "and who is responsible for marketing?",
    "Same here, I love it",
    "just kidding",
    "but Anna lives in Rome",
    "and Tom called yesterday",
    "headcount by department",
    "list overdue invoices",
    "in my opinion that is too low",
    "Is there a better way to learn French?",
    "What did Anna and her brother eat?",
    "My mother said she is tired, what can I do?",
    "how are you?",
    "Which is better, tea or coffee?",
    "and now something completely different",
    "how about lunch with the team tomorrow?",
    "No, in March.",
    "Sort a list in Python",
    "without a doubt",
    "By Friday, please finish the report",
    "only if you have time",
    "yesterday I met Tom",
    "今年的目标是什么？",
    "怎么办呢？",
    "那我该怎么做呢？",
    "人呢？",
    "其他城市有什么好吃的？",
    "按照规定应该怎么报销？",
    "只要你开心就好",
    "上周我去了重庆",
    "What about it makes you nervous?",
    "How about adding a column to the orders table?",
    "and please book a table for two",
    "orders per customer last month",
    "What are the side effects of ibuprofen and how can I avoid them?",
    "Paris is lovely in spring",
    "2023 was a hard year for us",
    "Can you help me with my homework?",
    "I told him about it yesterday",
    "Do cats like it when they are brushed?",
    "what does it mean to be kind?",
    "monthly active users by platform",
    "ok, next question: who painted Guernica?",
    "only you can help me",
    "same",
    "that reminds me, when is the deadline?",
    "我女儿今年五岁了",
    "最近有什么好看的电影？",
    "那就这样吧",
    "改天再聊",
    "每月的房租什么时候交？",
]
# What was asked before has nothing, or more than one thing, that could be meant.
UNSURE = [
    ([], "what about 2023?"),
    (["sales by region for 2024"], "how old is she?"),
    (["hello"], "what about 2023?"),
    (["I love sushi"], "what about ramen?"),
    (["上海的销售额是多少？"], "他多大了？"),
    (["total revenue this year"], "what do they say about Brexit?"),
    (["Did Anna meet Lucy?"], "how old is she?"),
    (["Who is Tom?"], "what about him?"),
    (["Did Anna meet Lucy?", "Where does Tom live?"], "and her?"),
    (["李雷住在哪里？"], "他呢？"),
    (["sales in London"], "what about the weather in Paris?"),
    (["上海的销售额"], "那北京的天气呢"),
    (["is it ready?"], "when will it be?"),
]
BASES = sorted(
    {previous[-1] for previous, _, _ in (*ENGLISH, *CHINESE) if followup(previous[-1], ["x"]).text == previous[-1]}
)
GRAIN = re.compile("hour|da[yi]|week|month|quarter|year|per$|split$")  # "per week" may become "weekly"
OWN = [question for _, question, _ in ENGLISH]


@pytest.mark.parametrize(("previous", "question", "text"), [*ENGLISH, *CHINESE])
def test_a_follow_up_is_understood_alone(previous: list[str], question: str, text: str) -> None:
    found = followup(question, previous)

    assert found.text == text
    assert found.is_followup
    assert found.replaced


@pytest.mark.parametrize("question", ALONE)
def test_a_question_of_its_own_takes_nothing_over_whatever_was_asked_before(question: str) -> None:
    rewritten = {base: followup(question, [base]).text for base in BASES}

    assert {base: text for base, text in rewritten.items() if text != question} == {}


@pytest.mark.parametrize(("previous", "question"), UNSURE)
def test_where_it_is_not_sure_what_is_meant_the_question_is_left_alone(previous: list[str], question: str) -> None:
    found = followup(question, previous)

    assert (found.text, found.is_followup, found.kept, found.replaced) == (question, False, (), ())


def test_it_says_what_was_kept_what_was_changed_and_why() -> None:
    found = followup("what about 2023?", ["sales by region for 2024"])

    assert found.kept == ("sales", "region")
    assert found.replaced == (Swap("2024", "2023"),)
    assert found.why == "follows up “sales by region for 2024”: 2023 instead of 2024"


@pytest.mark.parametrize("aside", ["thanks!", "why?", "好的，谢谢", "remember that our fiscal year starts in April"])
def test_a_chain_runs_over_what_changes_no_topic_and_ends_with_a_new_one(aside: str) -> None:
    asked = ["sales by region for 2024", "what about 2023?", aside]

    assert followup("and by month?", asked).text == "sales by region for 2023 by month"
    assert followup("and in Paris?", [*asked, "Is it raining in London?"]).text == "Is it raining in Paris?"


def test_a_chain_comes_out_the_same_from_questions_as_asked_and_as_rewritten() -> None:
    asked: list[str] = []
    rewritten: list[str] = []
    for question in (
        "sales in Italy in 2020",
        "what about Spain?",
        "and 2021?",
        "by month",
        "only the top 5",
        "and Portugal?",
    ):
        rewritten.append(followup(question, rewritten).text)
        assert followup(question, asked).text == rewritten[-1]
        asked.append(question)
    assert rewritten[-1] == "sales in Portugal in 2021 by month, top 5"


@given(st.text(max_size=60), st.lists(st.text(max_size=60) | st.sampled_from(BASES), max_size=4))
def test_any_text_gives_a_bounded_text(question: str, previous: list[str]) -> None:
    found = followup(question, previous)

    assert len(found.text) <= 3 * MOST_CHARS
    assert found.is_followup or found.text == question


@given(st.sampled_from([question for _, question, _ in (*ENGLISH, *CHINESE)]), st.sampled_from(BASES))
def test_what_was_rewritten_is_left_alone_from_then_on(question: str, base: str) -> None:
    text = followup(question, [base]).text

    assert followup(text, [base]).text == text
    assert followup(text, [base, text]).text == text


@given(st.sampled_from(OWN), st.sampled_from(BASES))
def test_the_question_s_own_words_are_always_kept(question: str, base: str) -> None:
    found = followup(question, [base])
    lost = lexemes(question).keys() - lexemes(found.text).keys() - OPENING_WORDS

    assert {word for word in lost if not GRAIN.match(word)} == set()


def test_a_topic_put_in_front_does_not_grow_with_every_question() -> None:
    asked = ["How do I reset the router?", "how long does it take?"]

    assert followup("can it be undone?", asked).text == "reset the router: can it be undone?"


def test_a_pasted_page_follows_nothing_up_and_nothing_follows_it_up() -> None:
    page = "sales by region for 2024 " * 40

    assert not followup(f"what about {page}?", ["sales by region for 2024"]).is_followup
    assert not followup("what about 2023?", [page]).is_followup


def test_a_question_in_another_language_is_left_alone() -> None:
    assert not followup("那上海呢？", ["sales in Paris"]).is_followup
    assert is_cjk(followup("那上海呢？", ["sales in Paris", "北京的销售额"]).text)
