"""Answer types: what kind of answer a question asks for (a number, a time, an occupation, a person, a place, a name),
who it is about, and which messages have such an answer about that person. Pure; answer_ranking.py weighs the result.

A word of the question is never its answer, so it is blanked before a type is looked for. A message without a named
person that has a pronoun is about the people of the message before it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from recollect.recall.word_lists import ASKS_WHEN, CJK_NUMBER, CLAUSE_BREAK, FIRST_PERSON, NUMBER_WORD
from recollect.values.text import WORD, is_cjk

NUMBER = re.compile(rf"\d|\b{NUMBER_WORD}\b|{CJK_NUMBER}", re.IGNORECASE)
TIME = re.compile(
    r"\d|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b(?:jan|febr|mar|apr|may|jun|jul|aug|sept|oct|nov|dec)\w*\b"
    r"|\b(?:today|tonight|tomorrow|yesterday|morning|evening|afternoon|noon|week|weekend|month|year|spring|summer|autumn"
    r"|winter|midsummer|christmas|easter)s?\b|[周月号日年点]|星期|今天|明天|昨天|上午|下午|晚上|早上",
    re.IGNORECASE,
)
OCCUPATION = re.compile(
    r"(?:\b(?:i|he|she|they|who)(?:'m|'s|'re| am| is| was| are| were)|\bi(?:'ve| have) been|\bas|\b[a-z]+'s| is| was)"
    r" (?:\w+ )?(?:an?|the) (?:[\w-]+ ){0,2}[\w-]+|\bwork(?:s|ed|ing)? (?:as|for|at|in|on|with)\b"
    r"|\b(?:teach|run|manage|train|stud)\w* |\bmy (?:job|work|shift|firm|office)\b"
    r"|\b\w{3,}(?:ologist|ician|keeper|smith)\b"
    r"|[是当做干].{0,8}[师员生士工家警机理长商贩]|[做搞干].{1,8}(?:的|这行)|上班|工作|[教修].{1,6}",
    re.IGNORECASE,
)
NAME = re.compile(r"(?<=[\w,;:('] )[A-Z][\w'-]+|\b(?:called|named|name'?s?)\b|[叫姓名是]|阿|老[一-龥]|小[一-龥]")
PLACE = re.compile(r"\b(?:in|at|on|to|from|near|round|behind|by)\b|[在去到住从]", re.IGNORECASE)
TYPES = (
    (re.compile(r"\bhow (?:many|much|old|big|long|far|often|tall|high|heavy)\b|多少|几|多久|多大|多高", re.I), NUMBER),
    (ASKS_WHEN, TIME),
    (
        re.compile(
            r"\bwhat (?:do|does|did) (?:\w+ ){1,3}do(?: for (?:a living|work)| at work)?\W*$|\bwork as\b"
            r"|\bdo for a living\b|\b(?:job|profession|occupation|trade|line of work|position|career)\b"
            r"|[做干]的?是?(?:什么|啥)(?:工作|的|行)|职业|(?:什么|啥)工作|[当做]什么|负责什么",
            re.I,
        ),
        OCCUPATION,
    ),
    (re.compile(r"\b(?:who|whom|whose|who's)\b|\bname\b|\bcalled\b|谁|叫什么|姓什么|名字", re.I), NAME),
    (re.compile(r"\bwhere\b|\bwhich (?:city|town|country|place)\b|哪[里儿]|哪个城市|什么地方", re.I), PLACE),
)  # fmt: skip
RELATIVES = (
    "wife|husband|partner|spouse|girlfriend|boyfriend|fianc[eé]e?|mother|father|mom|mum|dad|parents?|sons?|daughters?"
    r"|kids?|child|children|baby|brothers?|sisters?|twins?|grand\w+|gran|aunt|auntie|uncle|cousin|niece|nephew|\w+-in-law"
    "|boss|manager|colleague|co-?worker|roommate|flatmate|housemate|mate|friend|neighbou?r|teacher|landlord|dog|cat|horse"
)
CJK_RELATIVES = (
    "老婆|妻子|太太|媳妇|老公|丈夫|对象|[男女]朋友|妈妈?|爸爸?|父母|爸妈|儿子|女儿|孩子|哥哥?|弟弟?|姐姐?|妹妹?|爷爷|奶奶|外婆|外公|姥姥|姥爷|婆婆|公公|岳父|岳母"
    "|表[哥弟姐妹]|堂[哥弟姐妹]|姑姑?|舅舅?|叔叔?|老板|领导|经理|组长|同事|同学|室友|舍友|房东|邻居|隔壁|朋友|闺蜜|老师|医生|狗|猫"
)
RELATIVE = re.compile(rf"\b({RELATIVES})(?:'s)?\b|({CJK_RELATIVES})", re.IGNORECASE)
SAME_RELATIVE = {
    "mom": "mother", "mum": "mother", "dad": "father", "children": "kid", "child": "kid", "kids": "kid",
    "妈": "妈妈", "爸": "爸爸", "哥": "哥哥", "弟": "弟弟", "姐": "姐姐", "妹": "妹妹", "妻子": "老婆", "太太": "老婆",
}  # fmt: skip
# A relative beside their name: "my sister Maud", "our dog is called Pip", "Maud, my sister".
NAMED = re.compile(
    rf"\b({RELATIVES})(?:,| is| was|'s name is|'s)?(?: called| named)? ([A-Z][\w-]+)"
    rf"|\b([A-Z][\w-]+)(?:, | is )(?:my|our) (?:\w+ )?({RELATIVES})\b"
    rf"|({CJK_RELATIVES})(?:叫|是|，叫)?((?:阿|小|老)[一-龥])"
)
PRONOUN = re.compile(r"\b(?:he|she|they|it|him|her|his|their)(?:'s|'re|'d|'ll)?\b|[他她它]", re.IGNORECASE)
# Between clauses that may be about different people.
SUBJECT_BREAK = re.compile(rf"{CLAUSE_BREAK.pattern}|\b(?:says?|said|thinks?|told)\b|说", re.IGNORECASE)
POSSESSED = re.compile(rf"\b(?:my|our)\s+(?:[\w-]+\s+)?(?={RELATIVES}\b)|我们?家?的?(?={CJK_RELATIVES})", re.IGNORECASE)
SELF = re.compile(r"\b(?:i|we)\b", re.IGNORECASE)  # always the subject
MENTION = re.compile(
    rf"(?P<relative>\b(?:{RELATIVES})\b|{CJK_RELATIVES})|(?P<third>\b(?:s?he|his|her)\b|[他她])"
    r"|(?P<user>\b(?:me|my|mine|us|our)\b|我|咱)|(?P<name>\b[A-Z][\w-]+|(?:阿|小|老)[一-龥])",
    re.IGNORECASE,
)
# Whom a clause is about besides people with a name: the user, somebody without a name, or nobody that it mentions.
USER, SOMEBODY, NOBODY = "user", "other", "nobody"
# People who decide about the user's matters: what they do is seldom about themselves.
AGENTS = frozenset(("boss", "manager", "landlord", "teacher", "老板", "领导", "经理", "组长", "房东", "老师", "医生"))


def find_relatives(text: str) -> frozenset[str]:
    found = ((match[1] or match[2]).lower() for match in RELATIVE.finditer(text))
    return frozenset(SAME_RELATIVE.get(word, word) for word in found)


@dataclass(frozen=True, slots=True)
class Subjects:
    """Whom messages are about."""

    names: Mapping[str, frozenset[str]]  # of each relative, and the reverse
    people: Sequence[frozenset[str]]  # that each message mentions; empty if it names nobody but the user
    before: Sequence[frozenset[str]]  # whom a pronoun in each message means


@lru_cache(maxsize=200)
def read_subjects(texts: tuple[str, ...]) -> Subjects:
    """Return whom each message, in the order they were said, is about."""
    names = find_names(texts)
    people: list[frozenset[str]] = []
    meant: list[frozenset[str]] = []
    before = frozenset[str]()
    for text in texts:
        found = find_people(text, names)
        meant.append(found or before)
        before = found or (before if PRONOUN.search(text) else found)
        people.append(before)
    return Subjects(names, people, meant)


def find_about(text: str, names: Mapping[str, frozenset[str]], before: frozenset[str]) -> frozenset[str]:
    """Return whom the clauses of a text are about: the person that each mentions first, or else the one of the clause
    before it."""
    about, last = set[str](), frozenset((NOBODY,))
    for clause in SUBJECT_BREAK.split(POSSESSED.sub("", text)):
        if clause.strip():
            last = find_subject(clause, names, before) or last
            about |= last
    return frozenset(about)


def find_subject(clause: str, names: Mapping[str, frozenset[str]], before: frozenset[str]) -> frozenset[str]:
    if SELF.search(clause):
        return frozenset((USER,))
    for match in MENTION.finditer(clause):
        word = match[0].lower()
        if match["user"]:
            return frozenset((USER,))
        if match["third"]:
            return before or frozenset((SOMEBODY,))
        one = SAME_RELATIVE.get(word, word)
        if match["relative"] or word in names:
            return names.get(one, frozenset()) | {one}
    return frozenset()


def find_names(texts: Sequence[str]) -> dict[str, frozenset[str]]:
    """Return the names of the user's people, by what the user calls them, and the reverse."""
    names: dict[str, frozenset[str]] = {}
    for match in (match for text in texts for match in NAMED.finditer(text)):
        groups = [group for group in match.groups() if group]
        relative, name = (groups[1], groups[0]) if match[3] else (groups[0], groups[1])
        for one in find_relatives(relative):
            names[one] = names.get(one, frozenset()) | {name.lower()}
            names[name.lower()] = names.get(name.lower(), frozenset()) | {one}
    return names


def find_people(text: str, names: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Return the people that a text names, under all their names; the user is not one of them."""
    words = frozenset(WORD.findall(text.lower()))
    known = (name for name in names if name in words or (is_cjk(name) and name in text))
    direct = find_relatives(text).union(known)
    return direct.union(*(names.get(one, frozenset()) for one in direct))


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a question asks for. `people` is empty if it is about nobody, or only about the user."""

    type: re.Pattern[str] | None
    people: frozenset[str]
    is_personal: bool
    words: re.Pattern[str] | None  # of the question; none of them is the answer


def read_wanted(question: str, names: Mapping[str, frozenset[str]]) -> Wanted:
    words = [re.escape(word) for word in WORD.findall(question) if len(word) > 1 and not is_cjk(word)]
    return Wanted(
        type=next((has for asks, has in TYPES if asks.search(question)), None),
        people=find_people(question, names),
        is_personal=FIRST_PERSON.search(POSSESSED.sub("", question)) is not None,
        words=re.compile(rf"\b(?:{'|'.join(words)})\b", re.IGNORECASE) if words else None,
    )


def rate_type(wanted: Wanted, text: str) -> float:
    """Return 1 if a text has the type of answer that is wanted, -1 if not, 0 if any type will do."""
    if wanted.type is None:
        return 0.0
    rest = wanted.words.sub(lambda word: "_" if word[0][0].isupper() else word[0], text) if wanted.words else text
    return 1.0 if wanted.type.search(rest) else -1.0


def rate_subject(wanted: Wanted, text: str, about: frozenset[str], people: frozenset[str]) -> float:
    """Return 1 if a message is about whom the question is about, -1 if about others, 0 if that is unknown."""
    others = about - {USER, NOBODY}
    if wanted.people:
        return 1.0 if wanted.people & (people | others) else -1.0 if people or others else 0.0
    if not wanted.is_personal:
        return 0.0
    if USER in about or FIRST_PERSON.search(POSSESSED.sub("", text)):
        return 0.5 if others else 1.0
    return -1.0 if others else 0.0
