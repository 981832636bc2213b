"""Word lists and patterns, English and Chinese, for the analysis of turns and questions. The effect of each was
measured (docs/why/recall.md)."""

from __future__ import annotations

import re


def split_list(text: str) -> frozenset[str]:
    return frozenset(text.split())


# "may" is not here: it is a month.
STOP_WORDS = split_list("""
    a an the and or but if of in on at to for from by with about as into than then so is are was were be been being am
    do does did doing done have has had having i me my mine myself we us our you your yours he him his she her hers it
    its they them their this that these those there here what which who whom whose when where why how can could would
    should will shall might must not no nor s t d ll m re ve don just also very too any some all both each such only
    own same other more most up out over under again didn doesn isn wasn aren won wouldn couldn shouldn haven hasn hadn
""")

# Words about the conversation or the request itself; they would match every question ever recorded.
REQUEST_WORDS = split_list("""
    say said says tell told talk talked discuss discussed mention mentioned bring brought conversation conversations
    chat chats list order summary summarize summarise overview recap remember recall remind give show walk provide let
    know please different aspect aspects various item items thing things throughout across
""")

# Chinese function characters end a run: no bigram crosses them.
CJK_FUNCTION = re.compile("[的了是在我你他她它们这那个有和与就都也吗呢啊呀吧么什啥来着哪]")

MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)

# What was done, as it was to be done; the stemmer knows the regular verbs.
BASES = {
    past: base
    for base, *forms in map(str.split, (
        *("send sent", "buy bought", "pay paid", "write wrote written", "make made", "get got", "take took taken"),
        *("go went gone", "bring brought", "see saw seen", "speak spoke spoken", "give gave given", "find found"),
        *("sell sold", "build built", "hold held", "meet met", "leave left", "keep kept", "run ran"),
        *("choose chose chosen", "teach taught", "feed fed", "hang hung", "ring rang rung", "draw drew drawn"),
        *("withdraw withdrew", "fly flew", "sweep swept", "rebuild rebuilt", "repay repaid", "drive drove driven"),
    ))
    for past in forms
}  # fmt: skip

NUMBER_WORD = (
    r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen"
    r"|(?:twen|thir|for|fif|six|seven|eigh|nine)ty|hundred|thousand|million|dozen|half|quarter|once|twice)"
)
CJK_NUMBER = "[零一二两三四五六七八九十百千万半]"

# In a question.
FIRST_PERSON = re.compile(r"\b(i|my|me|mine|myself|we|our)\b|我", re.IGNORECASE)
CLAUSE_BREAK = re.compile(
    r"[,;:.!?，；。！？—]|\b(?:and|but|because|so|since|while|when|who|whose|that|after|before)\b", re.I
)
SECOND_PERSON = re.compile(r"\b(you|your)\b|你|您", re.IGNORECASE)
POLITE_YOU = re.compile(r"\b(can|could|would|will) you\b|\bdo you think\b", re.IGNORECASE)
ASKS_WHEN = re.compile(
    r"(^|[,;.!?]\s*|\b(and|tell me|remember|know|recall|say|exactly|since|until)\s+)when\b"
    r"|\bwhen (did|do|does|is|are|was|were|will|has|have|had)\b|\b(what|which) (date|day|month|year|time)\b"
    r"|\bhow long\b|\bhow many (days|weeks|months|years)\b"
    r"|什么时候|啥时候|几点|哪天|何时|时间|日期|几号|多久",
    re.IGNORECASE,
)
ASKS_OVERVIEW = re.compile(
    r"\b(summar\w*|overview|recap|everything|comprehensive)\b|总结|概括|回顾|梳理", re.IGNORECASE
)
ASKS_ORDER = re.compile(
    r"\b(the|what|which|in|chronological) order\b(?! to\b)|\b(the|what|which) sequence\b|\btimeline\b|\bchronolog\w*"
    r"|\bfirst\b.*\bthen\b|顺序|先后|时间线",
    re.IGNORECASE,
)
# The answer has several parts: a counting word, or a plural right after "what" or "which".
_NO_PLURAL = r"(?!(?:did|does|do|is|was|are|were|has|have|had|will|would|can|could|should|might|this|his|its)\b)"
ASKS_SEVERAL = re.compile(
    r"\b(how many|list|all|both|(kinds?|types?|sorts?) of)\b|\bwhat (are|were)\b"
    rf"|\b(what|which) (?:{_NO_PLURAL}\w+ )?{_NO_PLURAL}[a-z]{{2,}}[^su\W]s\b|哪些|哪几|所有|全部",
    re.IGNORECASE,
)
# The user means another session: recall widens.
ASKS_BEFORE = re.compile(
    r"\b(before|previously|last (time|week|month|year|session)|earlier|the other day|in the past"
    r"|(as|like) i (said|told)|you remember|remember when|did i (tell|say|mention)|have i (told|said|mentioned))\b"
    r"|之前|以前|上次|上回|前几天|我说过|还记得",
    re.IGNORECASE,
)

# What was so, and may not be any more.
ASKS_PAST = re.compile(
    r"\b(before|previous(ly)?|former(ly)?|used to|originally|at first|back then|in the past|old (address|job|name|city)"
    r"|(did|was|were) i (ever|once|first|originally)|first\W*$|last year|no longer|changed? (from|my mind))\b"
    r"|之前|以前|原来|原先|曾经|过去|当时|起初",
    re.IGNORECASE,
)

# In a turn. Looking for a word in a set is many times cheaper than a pattern over the text, and every turn is looked
# at: so the words come first, and a pattern runs only where one of its words is there, or a Chinese character.
TIME_WORDS = split_list("""
    yesterday today tonight tomorrow ago last next morning week weeks weekend weekends month months year years day days
    since recently january february march april june july august september october november december monday tuesday
    wednesday thursday friday saturday sunday
""")
YEAR = re.compile(r"(?:19|20)\d\d")
CJK_TIME = re.compile(
    r"昨天|今天|明天|后天|上周|下周|周[一二三四五六日末]|星期|月|\d+[号日点年]|[一二三四五六七八九十]点"
    r"|上午|下午|晚上|早上|去年|今年|明年"
)
INSTRUCTION_WORDS = split_list("always never now future ask")
STANDING_INSTRUCTION = re.compile(
    r"^\W*(please )?(always|never|from now on|in future)\b|\b(when|whenever|if|every time|each time) i ask\b"
    r"|\bfrom now on\b|以后(请|都|不要)|每次(都|我)|从现在起|请(总是|始终|不要)"
)
PREFERENCE_WORDS = split_list("""
    prefer preferred preference prefers rather like love enjoy hate dislike avoid favorite favourite instead
""")
PREFERENCE = re.compile(
    r"\b(prefer(red|ence|s)?|i('d| would) rather|i (really )?(like|love|enjoy|hate|dislike|avoid)|favou?rite"
    r"|instead of)\b|喜欢|偏好|更愿意|宁愿|讨厌|最爱"
)
