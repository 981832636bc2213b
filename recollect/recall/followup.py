"""Follow-up questions: make "what about 2023?" a text that can be searched for without the conversation.

`make_standalone` is the entry point. A message depends on the one before it if it is a short phrase with an opener
("what about", "and", 呢), or has a pronoun that nothing in it explains. A phrase is put into the earlier question: a
year replaces a year, a name replaces a name, and words that fit nowhere are appended. A pronoun gets the earlier topic
in front. Search compares words, so grammar does not matter, but no word of the message may be lost.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from recollect.recall.lexemes import lexemes
from recollect.recall.word_lists import MONTHS, REQUEST_WORDS, STOP_WORDS, split_list
from recollect.values.text import is_cjk

MAX_CHARS = 400  # a longer message, such as a pasted page, is no follow-up
MAX_EARLIER = 8  # earlier messages that are considered
MAX_WORDS, MAX_CHARS_ZH = 8, 14  # of a phrase
MAX_OWN_WORDS = 3  # of a phrase, beside years, numbers and names: more are a topic of their own

SMALL_TALK = STOP_WORDS | split_list("""
    hi hello hey good morning afternoon evening night bye goodbye see thanks thank thx cheers ok okay sure yes yeah nope
    right great nice cool perfect wow fine hm oh well got sounds never mind please much lot go continue really come else
    anything kidding
""")
SMALL_TALK_ZH = re.compile(
    "(?:[你您]好|嗨|[早晚]上好|谢谢你?|好的?|嗯|是的?|不是|对的?|可以|行|没事|再见|继续|然后|还有|为什么|真的|怎么说|什么|[啊哦了吗呢吧呀\\W])+"
)
# Something to remember, or to do from now on.
INSTRUCTION = re.compile(
    r"\W*(?:(?:please|and|ok|also)\b\W*)*(?:remember|note|forget|keep in mind|don'?t|always|never|from now on|call me"
    r"|remind me|stop|answer (?:in|with|me))\b|请?(?:你|帮我)?(?:记住|记得|记一?下|以后|从现在起|叫我|忘|别|不要|每次)",
    re.IGNORECASE,
)
STATEMENT = re.compile(r"\W*(?:i|i'm|i've|we|we're|you|let's)\b[^?]*$", re.IGNORECASE)
OPENER = re.compile(
    r"\W*(?:(?:ok|okay|so|now|then|great|cool|thanks|well|right|sure|yes|no|please|oh)\b[\s,.!]*)*"
    r"(?P<weak>(?:(?:and|but|or|also|plus|only|just|those|the ones|now|then)\b[\s,]*)*)"
    r"(?P<strong>(?:(?:what|how) about|(?:(?:do|show|run|try) )?(?:the )?same(?: thing)?(?:,? but)?"
    r"|(?:show|do|run|give)(?: me)? (?:that|this|it)(?: again)?(?= \w)|(?:do|try)(?= (?:last|next|\d)))\b[\s,:]*)?"
    r"(?P<rest>.*?)"
    r"[\s,]*(?P<instead>\binstead)?(?P<ends>\b(?:then|too|as well|again|please|only|now)\b)?[\s?.!…]*$",
    re.IGNORECASE | re.DOTALL,
)
OPENER_ZH = re.compile(
    r"(?:那么?|还有|以及|然后|再|哦|嗯|好的?|[，,\s])*(?P<starts>换[成为]|改[成为]|如果是|要是|同样看|也?看看|再看|只[看要列]"
    r"|仅看|只显示|排除|不包括|不含|除了)?(?P<rest>.+?)(?P<ends>看?呢|的话呢?|看|怎么样呢|也[看查]一下)?[？?。！!\s]*$",
    re.DOTALL,
)
EXCLUDES_ZH = ("排除", "不包括", "不含", "除了")
PREPOSITIONS = split_list("""
    in for on at of by from to with about during over near since until before after between within under against per via
    without except
""")
ANY_PREPOSITION = "|".join(sorted(PREPOSITIONS))
PREPOSITION_BEFORE = re.compile(rf"\b({ANY_PREPOSITION}) (?:\w+ )?$", re.IGNORECASE)
PREPOSITION_FIRST = re.compile(rf"^(?:{ANY_PREPOSITION})\b", re.IGNORECASE)
MODIFIER = re.compile(
    r"(?:(?:sort|order|group|rank|split|filter)(?:ed)? by|by|per|compared (?:to|with)|versus|vs|without|exclud(?:e|ing)"
    r"|includ(?:e|ing)|except)\b",
    re.IGNORECASE,
)
# A message with one of these is a sentence of its own.
CLAUSE = split_list("""
    i i'm i'd i'll i've we you he she it they is are was were be been am do does did has have had can could will would
    should shall may might must what which who whom whose when where why how if because let's that there here me us him
    them it's that's
""")
CLAUSE_ZH = re.compile(
    "[你您谁吗吧啥叫住]|什么|怎么|多少|几[个号点月年岁]|哪|为何|觉得|知道|应该|可以|能不|想|帮|请|话题|我该|喜欢"
)
COMMANDS = split_list("""
    show list sort group plot filter compare count export explain describe summarize summarise write tell give find make
    translate create add help open send book set play search look check read call ask define delete draw
""")
COMMON = STOP_WORDS | REQUEST_WORDS | COMMANDS  # carry no meaning of their own
_SPAN = "year|quarter|month|week|weekend|day|hour|summer|winter|spring|autumn|decade"
_DAY = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
_MONTH = "|".join(name for month in MONTHS if month != "may" for name in (month, month[:3]))
_NUMERAL = "[0-9一二两三四五六七八九十百]+"
# What something of the same kind can replace.
SLOTS = re.compile(
    rf"(?P<relative>\b(?i:(?:last|this|next|past|previous) (?:\w+ )?(?:{_SPAN}|{_DAY}|{_MONTH})s?"
    rf"|yesterday|today|tomorrow|tonight|\w+ (?:{_SPAN})s? ago)\b)"
    rf"|(?P<year>\b(?:(?i:year) )?(?:19|20)\d\d\b)|(?P<quarter>\b(?i:q[1-4]|h[12])\b)"
    rf"|(?P<month>\b(?:(?i:{_MONTH})|May)\b)|(?P<day>\b(?i:{_DAY})\b)"
    r"|(?P<number>\b(?i:(?:top|bottom|first|last|above|over|below|under|least|most) )?[$€£]?\d[\d.,]*\b)"
    r"|(?P<name>\b(?i:my|our|your) \w+(?:['’]s)?|\b\w+(?:[._]\w+)+"
    rf"|\b(?!(?i:{'|'.join(sorted(COMMON))})\b)[A-Z][\w&-]*(?: (?:[A-Z][\w&-]*|\d+\b))*)"
)
SLOTS_ZH = re.compile(
    rf"(?P<relative>[今去前明后]年|[上本下这]个?(?:月|季度|周)|[昨今明前后]天|最?近{_NUMERAL}个?[天周月年])"
    rf"|(?P<year>(?:19|20)\d\d年?)|(?P<quarter>第?[一二三四1-4]季度|[qQ][1-4]|[上下]半年)|(?P<month>{_NUMERAL}月份?)"
    rf"|(?P<day>(?:周|星期)[一二三四五六日天末])|(?P<number>前{_NUMERAL}[名个位条]?|第{_NUMERAL}[章节条页步题])"
    r"|(?P<by>[按每][\u4e00-\u9fff]{1,3}?(?=看|呢|统计|[的，？?]|$))|(?P<degree>最[高低多少大小贵好差新早晚长短])"
)
TEMPORAL = ("relative", "year", "quarter", "month", "day")
PRONOUN = re.compile(
    r"\b(?:(?P<person>she|hers?|he|him|his)|they|them|theirs?|ones|it|its|(?:this|that|these|those)(?=\s*(?:[?.!]|$)))\b"
    r"(?!['’])",
    re.IGNORECASE,
)
PRONOUN_ZH = re.compile(r"(?:那么?|请问?|帮我|查一?下|看一?下|[，,\s])*[他她它]们?")
ARTICLES = split_list("the a an")
ONE = re.compile(r"(?:(?:the|a|an|this|that) )?([\w-]+) ones?", re.IGNORECASE)  # "the black one"
# "it" that stands for nothing.
EMPTY_IT = re.compile(
    r"\bit\b.*\b(?:to|that|if|when|rain\w*|snow\w*|worth|cold|hot|late)\b|\b(?:time|day|date|year) is it\b"
    r"|\b(?:make|made) it\b|\bis it going\b",
    re.IGNORECASE,
)
# Questions that compare or count, and do not say what.
WHICH = re.compile(
    r"\W*(?:(?:and|but|so|ok)\b\W*)*(?:which (?:ones? )?(?:is|are|was|were) (?:the )?(?:more |most )?\w+"
    r"|how many(?: are there)?)\W*",
    re.IGNORECASE,
)
ASKING = re.compile(
    r"\W*(?:please|(?:can|could|would) you|tell me|show(?: me)?|list|find|give(?: me)?|compare|what|which|who|where"
    r"|when|how(?: many| much| old| long| far)?|is|are|was|were|does|do|did|has|have|can|about|i|we|you)\b['’]?s?\s*",
    re.IGNORECASE,
)
# The topic of a Chinese question stands in front, before 的 or the verb.
SUBJECT_ZH = re.compile(
    r"(?:请问?|帮我|查询?一?下|看看|列出|统计|介绍一?下)?(?P<subject>[^\W的是][\w ]{0,11}?)"
    r"(?=[的是有在住多几怎哪能会吗防支负喜讲适]|什么|[0-9]{4}|[？?，]|$)"
)
PARTICLES_ZH = re.compile(r"[的地得在对于把就也是和跟从为了\s，,]+")
# Words that only mark a follow-up: a model's rewrite need not keep them. English as stems.
OPENING_WORDS = split_list(
    "instead ok okay now then too well again also pleas thank one year great so same do tri show"
)
OPENING_ZH = re.compile(
    "换[成为]|改[成为]|如果是|要是|只[看要列]|仅看|只显示|同样|再?看看?|一下|的话|那么?|还有|[他她它]们?|怎么样|好的"
)


@dataclass(frozen=True, slots=True)
class Slot:
    kind: str
    start: int
    end: int
    text: str
    preposition: str


Edit = tuple[int, int, str]


def make_standalone(question: str, previous: Sequence[str]) -> str:
    """Return the question as a text of its own. `previous` are the user's earlier messages, newest last."""
    base = find_topic(previous[-MAX_EARLIER:])
    return (rewrite(question, base) if base else None) or question


def find_topic(previous: Sequence[str]) -> str:
    """Return the last question, itself rewritten; small talk, instructions and statements are passed over."""
    base = ""
    for message in previous:
        if len(message) > MAX_CHARS:
            base = message
        elif is_aside(message) or STATEMENT.match(message) or not lexemes(message):
            continue
        elif base:
            base = rewrite(message, base) or message
        elif read_phrase(message) is None and find_pronoun(message) is None:
            base = message
    return base


def is_aside(message: str) -> bool:
    """Whether a message is small talk or an instruction: it asks nothing and does not change the topic."""
    if INSTRUCTION.match(message) or SMALL_TALK_ZH.fullmatch(message.strip()):
        return True
    return SMALL_TALK.issuperset(re.findall(r"\w+", message.lower())) and not PRONOUN.search(message)


def rewrite(question: str, base: str) -> str | None:
    """Return the question with what it takes from the earlier one; None if it takes nothing."""
    if max(len(question), len(base)) > MAX_CHARS or is_cjk(question) != is_cjk(base):
        return None
    if question == base or is_aside(question):
        return None
    if (phrase := read_phrase(question)) is not None:
        return (merge_zh if is_cjk(base) else merge)(base, *phrase)
    return explain_pronoun_zh(question, base) if is_cjk(base) else put_topic_in_front(question, base)


def read_phrase(question: str) -> tuple[str, bool] | None:
    """Return the phrase without its opener, and whether it only adds; None for a sentence of its own."""
    if is_cjk(question):
        return read_phrase_zh(question)
    is_strong, is_weak, text = split_opener(question)
    if not is_fragment(text):
        return None
    if MODIFIER.match(text):
        return text, not is_strong
    is_plain = not list_content_words(cut_slots(text, find_slots(text, is_phrase=True)))
    if is_strong or (is_weak and is_plain):
        return text, False
    has_mark = any((is_weak, is_plain, PREPOSITION_FIRST.match(text)))
    return (text, False) if has_mark and question.rstrip().endswith("?") else None


def split_opener(question: str) -> tuple[bool, bool, str]:
    """Return whether a message has an opener that asks again, one that only joins, and the rest of it."""
    opener = OPENER.match(question[:MAX_CHARS])
    if opener is None:
        return False, False, question
    return (
        bool(opener["strong"] or opener["instead"]),
        bool(opener["weak"] or opener["ends"]),
        opener["rest"].strip(" ,:"),
    )


def is_fragment(text: str) -> bool:
    """Whether a text is one short phrase, and not a sentence or a noun with a preposition after it."""
    words = text.lower().split()
    if not 0 < len(words) <= MAX_WORDS or "," in text or words[0] in COMMANDS or CLAUSE.intersection(words):
        return False
    slots = find_slots(text, is_phrase=True)
    rest = cut_slots(text, slots).lower()
    own = list_content_words(rest)
    if not (slots or own):
        return False
    if MODIFIER.match(text):
        return True
    is_nested = re.search(rf"\w (?:{ANY_PREPOSITION})\b", rest) is not None
    return len(own) <= MAX_OWN_WORDS and not is_nested


def read_phrase_zh(question: str) -> tuple[str, bool] | None:
    opener = OPENER_ZH.match(question[:MAX_CHARS].strip())
    if opener is None or PRONOUN_ZH.match(question):
        return None
    starts, text = opener["starts"] or "", opener["rest"]
    is_short_question = len(text) <= 4 and question.rstrip().endswith(("?", "？"))
    if CLAUSE_ZH.search(text) or not 1 < len(text) <= MAX_CHARS_ZH:
        return None
    if starts in EXCLUDES_ZH:
        return starts + text, True
    return (text, False) if any((starts, opener["ends"], is_short_question)) else None


def merge(base: str, phrase: str, is_addition: bool) -> str:
    """Return the earlier question with the phrase in it."""
    if is_addition:
        return append_phrases(base, [phrase])
    slots = find_slots(phrase, is_phrase=True)
    edits, added = place_slots(slots, base)
    rest = cut_slots(phrase, slots)
    if (kind := ONE.fullmatch(phrase)) and (place := find_modifier(base)):
        return replace_ranges(base, [(*place, kind[1])])
    if not lexemes(rest).keys() <= lexemes(base).keys():
        place = None if slots else find_same_preposition(base, phrase)
        if place is not None:
            edits.append((*place, phrase))
        else:
            added.insert(0, rest)
    return append_phrases(replace_ranges(base, edits), added)


def merge_zh(base: str, phrase: str, is_addition: bool) -> str | None:
    """Return the same in Chinese, where the subject is replaced; None if the phrase is a topic of its own."""
    if is_addition:
        return append_phrases(base, [phrase])
    slots = find_slots(phrase)
    edits, added = place_slots(slots, base)
    rest, _, shared = PARTICLES_ZH.sub("的", cut_slots(phrase, slots)).strip("的").partition("的")
    if shared not in base:
        return None
    subject = find_subject_zh(base)
    if rest not in base and subject and not edits:
        edits.append((*subject, rest))
    elif rest not in base:
        added.insert(0, rest)
    return append_phrases(replace_ranges(base, edits), added)


def place_slots(slots: Sequence[Slot], base: str) -> tuple[list[Edit], list[str]]:
    """Return which slots of the earlier question are replaced, and what has no place in it."""
    edits, added, olds = list[Edit](), list[str](), find_slots(base)
    for slot in slots:
        places = find_counterparts(slot, olds)
        olds = [old for old in olds if old not in places]
        edits += [(old.start, old.end, "" if number else slot.text) for number, old in enumerate(places)]
        added += [] if places else [f"{slot.preposition} {slot.text}".strip()]
    return edits, added


def find_slots(text: str, is_phrase: bool = False) -> list[Slot]:
    """Return the slots of a text. A single capital at the beginning of a sentence makes no name."""
    slots = []
    for match in (SLOTS_ZH if is_cjk(text) else SLOTS).finditer(text):
        if match.lastgroup == "name" and not (match.start() or is_phrase or " " in match[0]):
            continue
        before = PREPOSITION_BEFORE.search(text, 0, match.start())
        slots.append(Slot(match.lastgroup or "", *match.span(), match[0], before[1].lower() if before else ""))
    return slots


def find_counterparts(new: Slot, olds: Sequence[Slot]) -> list[Slot]:
    """Return the slots that `new` replaces: a relative time every part of a date, anything else the last of its kind,
    if possible after the same preposition."""
    if new.kind == "relative":
        return [old for old in olds if old.kind in TEMPORAL]
    kinds = (new.kind, "relative") if new.kind in TEMPORAL else (new.kind,)
    same = next((found for kind in kinds if (found := [old for old in olds if old.kind == kind])), [])
    return sorted(same, key=lambda old: (old.preposition == (new.preposition or None), old.start))[-1:]


def find_modifier(base: str) -> tuple[int, int] | None:
    """Find "blue" in "What does the blue toner cost?": the word that "one" in "the black one" stands without. It is the
    first of the last words without a function word between them, after an article if any are."""
    runs: list[tuple[bool, list[re.Match[str]]]] = [(False, [])]
    for word in re.finditer(r"[\w'’-]+", base):
        if list_content_words(word[0]):
            runs[-1][1].append(word)
        else:
            runs.append((word[0].lower() in ARTICLES, []))
    nouns = [(has_article, words) for has_article, words in runs if len(words) > 1]
    return max(nouns, key=lambda run: (run[0], run[1][0].start()))[1][0].span() if nouns else None


def find_same_preposition(base: str, phrase: str) -> tuple[int, int] | None:
    """Find "for books", if it is the only one, for "for digital goods"; only a time replaces a time."""
    preposition = phrase.split()[0].lower()
    noun = rf"\b{re.escape(preposition)}(?: (?!(?:{ANY_PREPOSITION})\b)[\w'’-]+){{1,3}}"
    found = list(re.finditer(noun, base, re.IGNORECASE)) if preposition in PREPOSITIONS else []
    if len(found) != 1 or any(slot.kind in TEMPORAL for slot in find_slots(found[0][0])):
        return None
    return found[0].span()


def put_topic_in_front(question: str, base: str) -> str | None:
    """Return "the router: how long does it take?"; None if the question names what it is about."""
    pronoun = find_pronoun(question)
    if pronoun is None and not WHICH.fullmatch(question):
        return None
    has_person = base.lower().startswith("who") or any(slot.kind == "name" for slot in find_slots(base))
    if pronoun and pronoun["person"] and not has_person:
        return None
    text = base.partition(": ")[0].strip(" ?.!")
    while (asking := ASKING.match(text)) is not None and asking.end() < len(text):
        text = text[asking.end() :]
    return f"{text}: {question.strip()}"


def find_pronoun(question: str) -> re.Match[str] | None:
    """Return the first pronoun of a question if nothing before it can be meant by it."""
    is_strong, _, rest = split_opener(question)
    pronoun, words = PRONOUN.search(question), question.lower().split()
    if pronoun is None or is_strong or PRONOUN.fullmatch(rest) or EMPTY_IT.search(question):
        return None
    before = question[: pronoun.start()]
    own = set(re.findall(r"[\w-]+|:", before.lower())) - STOP_WORDS - REQUEST_WORDS
    is_explained = len(own) > 1 or "name" in [slot.kind for slot in find_slots(before)]
    is_question = words[-1].endswith("?") or words[0] in COMMANDS
    return pronoun if is_question and not is_explained else None


def explain_pronoun_zh(question: str, base: str) -> str | None:
    if PRONOUN_ZH.match(question) is None or question.rstrip("？? ").endswith("呢"):
        return None
    subject = find_subject_zh(base)
    if subject is None or "们" in question:
        return f"{base.strip(' ？?。！!')}：{PRONOUN_ZH.sub('', question, count=1)}"
    return base[slice(*subject)] + PRONOUN_ZH.sub("", question, count=1)


def find_subject_zh(base: str) -> tuple[int, int] | None:
    """Return where the topic of a Chinese question stands: in front, or after a time."""
    slots = find_slots(base)
    found = SUBJECT_ZH.match(base, slots[0].end if slots and slots[0].start == 0 else 0)
    if found is None:
        return None
    start = found.start("subject")
    return start, min([found.end("subject"), *(slot.start for slot in slots if slot.start > start)])


def list_content_words(text: str) -> list[str]:
    return [word for word in re.findall(r"[\w'’-]+", text.lower()) if word not in COMMON and word not in PREPOSITIONS]


def cut_slots(text: str, slots: Sequence[Slot]) -> str:
    return " ".join(replace_ranges(text, [(slot.start, slot.end, "") for slot in slots]).split())


def replace_ranges(text: str, edits: Sequence[Edit]) -> str:
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def append_phrases(base: str, added: Sequence[str]) -> str:
    text = base.rstrip(" ?.!？。！")
    return ("，" if is_cjk(base) else " ").join([text, *added]) + base[len(text) :]
