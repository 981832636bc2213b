"""Texts of replies without a model, in English and Chinese. A further language needs another Phrases and a line in
`phrases_for`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from recollect.recall.word_lists import MONTHS
from recollect.values.memory import Memory
from recollect.values.text import is_cjk

THANKS = re.compile(r"\b(?:thanks?|thx|ty|cheers|appreciate\w*)\b|谢|感谢|辛苦", re.IGNORECASE)
PARTING = re.compile(r"\b(?:bye|goodbye|see (?:you|ya)|good night|take care)\b|再见|拜拜|回头见|晚安", re.IGNORECASE)
GREETING = re.compile(
    r"\b(?:hi|hello|hey+|heya|yo|howdy|greetings|good (?:morning|afternoon|evening|day)|how are you|what'?s up)\b"
    r"|你好|您好|哈喽|嗨|早|上午好|中午好|下午好|晚上好|在吗",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Phrases:
    is_chinese: bool
    thanks: str
    parting: str
    greeting: str
    agreed: str
    unknown: str
    unsure: str
    no_such_message: str
    kept: str
    no_action: str
    unreachable: str
    switched_off: str
    model_failed: str
    broke_off: str
    profile: str
    profile_empty: str
    noted: str
    corrected: str
    stays: str
    forgotten: str
    log_stays: str
    nothing_to_forget: str
    because: str
    gone: str
    no_grounds: str
    in_short: str
    you_said: str
    you_asked: str
    i_said: str
    another_said: str
    known: str
    told_on: str
    until: str
    of_project: str
    suggest_entity: str
    suggest_todo: str
    not_everything: str
    no_longer: str
    earlier: str
    doubt: str
    not_corrected: str
    closed: str
    ended: str
    which_task: str
    keys: Mapping[str, str]

    def date(self, at: datetime | None) -> str:
        if at is None:
            return "某天" if self.is_chinese else "some day"
        if self.is_chinese:
            return f"{at.year}年{at.month}月{at.day}日"
        return f"{at.day} {MONTHS[at.month - 1].capitalize()} {at.year}"

    def key(self, key: str) -> str:
        return self.keys.get(key, key.replace("_", " "))

    def is_verbatim(self, memory: Memory) -> bool:
        """Whether the value is shown alone: it is a sentence, or its key has no name in this language."""
        return memory.is_sentence or (self.is_chinese and memory.key not in self.keys)

    def brief(self, memory: Memory) -> str:
        """Return the memory as an entry of a list."""
        if self.is_chinese and memory.key in CHINESE_VERBS:
            return CHINESE_VERBS[memory.key] + memory.value
        if self.is_verbatim(memory):
            return memory.value
        return f"{self.key(memory.key)}{'：' if self.is_chinese else ': '}{memory.value}"

    def small_talk(self, text: str) -> str:
        for pattern, phrase in ((THANKS, self.thanks), (PARTING, self.parting), (GREETING, self.greeting)):
            if pattern.search(text):
                return phrase
        return self.agreed


CHINESE_VERBS = {"like": "喜欢", "dislike": "不喜欢"}
CHINESE_KEYS = {
    "name": "名字",
    "nickname": "称呼",
    "pronouns": "代词",
    "location": "所在地",
    "hometown": "家乡",
    "nationality": "国籍",
    "timezone": "时区",
    "job": "职业",
    "employer": "单位",
    "age": "年龄",
    "birthday": "生日",
    "email": "邮箱",
    "phone": "电话",
    "address": "地址",
    "budget": "预算",
    "deadline": "截止日期",
    "answer_language": "回答语言",
    "language": "语言",
    "allergy": "过敏",
    "diet": "饮食",
    "hobby": "爱好",
    "family": "家人",
    "pet": "宠物",
    "food": "食物",
    "fiscal_year": "财年",
    "programming_language": "编程语言",
    "preference": "偏好",
    "drink": "饮料",
    "note": "一条备注",
}
ENGLISH = Phrases(
    is_chinese=False,
    thanks="You are welcome.",
    parting="Goodbye. I will remember what you told me.",
    greeting="Hello. Ask me about anything you told me, or tell me something to remember.",
    agreed="All right.",
    unknown="I have nothing about that in memory.",
    unsure="I found no clear answer in memory. The closest message:",
    no_such_message="There is no such message here. The latest messages:",
    kept="Saved.",
    no_action="Saved. I cannot act on it: no language model is configured, so I only answer from memory.",
    unreachable="Memory is not available right now. Please try again.",
    switched_off="Memory is switched off here. The conversation is still saved.",
    model_failed="The language model did not reply. Your message is saved; please try again.",
    broke_off="(The language model stopped here.)",
    profile="What I know about you:",
    profile_empty="I know nothing about you yet.",
    noted="Noted: {fact} [{ref}]",
    corrected="Corrected: {fact} [{ref}]; before, it was {old}.",
    stays="Unchanged: {fact} [{ref}]. To correct it, say: “Actually, …”.",
    forgotten="Forgotten: {key}.",
    log_stays="The messages stay in the log until their session is deleted.",
    nothing_to_forget="I found nothing to forget.",
    because="The last reply is based on:",
    gone="(erased)",
    no_grounds="The last reply has no source.",
    in_short="Summary, {date}: {text} [{ref}]",
    you_said="You told me on {date}: “{text}” [{ref}]",
    you_asked="You asked on {date}: “{text}” [{ref}]",
    i_said="I said on {date}: “{text}” [{ref}]",
    another_said="{who} said on {date}: “{text}” [{ref}]",
    known="{key}: {value}.",
    told_on="You told me on {date} [{ref}]",
    until="until {date}",
    of_project="known in this project",
    suggest_entity="What did we say about {name}?",
    suggest_todo="Done: {name}",
    not_everything=(
        "Nothing was forgotten. To erase everything, use the command `recollect forget` or Privacy in the console. To"
        " forget one thing, name it: “Forget my birthday”."
    ),
    doubt=" (maybe outdated: see the next message)",
    earlier="Earlier, on {date}: “{text}” [{ref}]",
    no_longer="Your {key} has no current value. Earlier: {fact}",
    not_corrected="Saved, but nothing was corrected: it is not clear what {old} refers to. Please say it in full.",
    closed="Done: {task}.",
    ended="No longer: {fact} [{ref}]",
    which_task="It is not clear which task you mean. Open tasks:",
    keys={"note": "a note"},
)
CHINESE = Phrases(
    is_chinese=True,
    thanks="不客气。",
    parting="再见。你告诉我的，我都会记得。",
    greeting="你好。你可以问我你说过的事，也可以让我记住什么。",
    agreed="好的。",
    unknown="我的记忆里没有这件事。",
    unsure="我的记忆里没有明确的答案。最接近的话：",
    no_such_message="这里没有这样一句话。最近的话：",
    kept="好的，这句话我留下了。",
    no_action="这句话我留下了，但我做不了：没有配置语言模型，我只能根据记忆回答。",
    unreachable="我现在读不到记忆，没法据此回答。请再试一次。",
    switched_off="这里关闭了记忆，我没法据此回答。对话仍会保存。",
    model_failed="我没能回答：语言模型没有回应。你的话已经保存，请再试一次。",
    broke_off="（语言模型说到这里中断了。）",
    profile="关于你，我知道这些：",
    profile_empty="关于你，我还什么都不知道。",
    noted="记住了：{fact} [{ref}]",
    corrected="已更正：{fact} [{ref}]；之前是 {old}。",
    stays="我记的仍是 {fact} [{ref}]。如果已经不是这样，请说“其实……”。",
    forgotten="已忘掉：{key}。我不会再用到它。",
    log_stays="说过的话本身还留在记录里，删除那次会话才会一并删除。",
    nothing_to_forget="没有找到要忘掉的内容。",
    because="我这么说，是因为：",
    gone="（后来已删除）",
    no_grounds="我上一句话没有出处。",
    in_short="{date}，简而言之：{text} [{ref}]",
    you_said="你在{date}告诉我：“{text}” [{ref}]",
    you_asked="你在{date}问过：“{text}” [{ref}]",
    i_said="我在{date}说过：“{text}” [{ref}]",
    another_said="{who}在{date}说过：“{text}” [{ref}]",
    known="{key}：{value}。",
    told_on="你在{date}告诉我的 [{ref}]",
    until="到{date}为止",
    of_project="项目中的说法",
    suggest_entity="关于{name}，我们说过什么？",
    suggest_todo="完成了：{name}",
    not_everything=(
        "什么都没有忘掉：一句话不会删除全部内容。这要用 `recollect forget` 命令，或控制台里的 Privacy。"
        "你可以只说一件事，比如“忘掉我的生日”。"
    ),
    doubt="（可能已过时，见下一条）",
    earlier="以前，{date}：“{text}” [{ref}]",
    no_longer="你现在的{key}我不知道了。变动之前：{fact}",
    not_corrected="这句话我留下了，但什么都没有更正：我不知道“{old}”指的是哪一条。请把整句话说完整。",
    closed="已完成：{task}。它不再是待办。",
    ended="不再是：{fact} [{ref}]",
    which_task="我不知道你说的是哪一件。还没完成的有：",
    keys=CHINESE_KEYS,
)


def phrases_for(text: str) -> Phrases:
    """Return the texts in the language of the message."""
    return CHINESE if is_cjk(text) else ENGLISH
