"""Names in what was said, recognised by how they are written. Precision matters more than recall.

In English a name is a run of capitalised words inside a sentence that is never written in lower case elsewhere.
Identifiers are recognised by quotation marks and spelling (`orders`, "orders", order_items, GitHub). In Chinese only
marked names are safe: 《》, 「」, a surname with a title, a stated name; and Latin names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from recollect.recall.word_lists import MONTHS, STOP_WORDS
from recollect.values.text import CJK

MAX_ENTITIES = 12
TITLED = 0.7  # of a line's words with a capital: it is a heading, and shows no names
TITLED_WORDS = 3

_NAME = rf"(?!I\b)[A-Z][^\W_{CJK}]*[+#]*(?:[-'’.](?=[A-Za-z]{{2}})[^\W_{CJK}]+)*"
NAMES = re.compile(rf"(?<![^\W{CJK}])(?<![@#/.'’`-]){_NAME}(?:(?: (?:of|de|van|von|der|da|la|the)){{0,2}} {_NAME})*")
IDENTIFIERS = re.compile(
    r"`([A-Za-z_][\w.]{1,40})`"  # marked as code
    r"|[\"“]([A-Za-z_][\w.-]{2,30})[\"”]"  # a term in quotation marks
    r"|\b([a-z][a-z0-9]*(?:_[a-z0-9]+)+|[A-Za-z]?[a-z]+(?:[A-Z]+[a-z0-9]*)+)\b"  # order_items, GitHub
)
_SURNAMES = (  # those that are hardly ever the beginning of another word
    "王李张刘陈杨黄赵吴徐孙朱郭罗宋郑谢韩唐冯董曹袁邓沈曾彭吕苏卢蒋"
    "蔡贾丁魏薛叶潘杜戴汪姜范姚谭廖邹熊陆郝孔崔邱秦顾侯邵孟钱汤尹黎贺赖龚"
)
CHINESE = re.compile(
    r"《([^《》\n]{1,20})》|「([^「」\n]{1,12})」"
    r"|(?:我叫|名叫|叫做|名字是|名字叫|姓名是)([\u4e00-\u9fff·]{2,4})(?=[，。,.！!；;\s]|$)"
    rf"|([{_SURNAMES}][\u4e00-\u9fff]{{0,2}}?(?:先生|女士|小姐|老师|教授|医生|经理|主任|总监))"
)
FORMATTED = re.compile(r"\s*(?:[#*>|+•-]|\d+[.)])|.*\*\*")  # a heading or an item, where capitals say nothing
LOWER = re.compile(r"\b[a-z]{2,}\b")
INSIDE = re.compile(rf"[a-z0-9,{CJK}，、] ?$")  # a capital after this is no beginning
_NO_NAMES = """
    monday tuesday wednesday thursday friday saturday sunday jan feb mar apr jun jul aug sep sept oct nov dec
    ok okay lol omg fyi asap ps am pm yes yeah thanks thank please hi hey hello dear sir madam mr mrs ms dr
    let mom mum dad grandma grandpa god christmas step task note example week day phase part option question
"""
NO_NAMES = frozenset((*STOP_WORDS, *MONTHS, *_NO_NAMES.split()))


def entities(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the names that most texts mention; of equals, the earlier ones."""
    found: Counter[str] = Counter()
    words = {word for text in texts for word in LOWER.findall(text)}
    for text in texts:
        found.update({name: 1 for name in iter_names(text) if not (name.istitle() and name.lower() in words)})
    return tuple(name for name, _ in found.most_common(MAX_ENTITIES))


def iter_names(text: str) -> Iterator[str]:
    for line in text.splitlines():
        for pattern in (IDENTIFIERS, CHINESE):
            yield from (match[match.lastindex or 0] for match in pattern.finditer(line))
        if not FORMATTED.match(line) and not is_titled(line):
            yield from (match[0] for match in NAMES.finditer(line) if is_name(line, match))


def is_titled(line: str) -> bool:
    words = [word for word in line.split() if word[0].isalpha() and word[0].isascii()]
    titled = sum(word[0].isupper() for word in words)
    return len(words) >= TITLED_WORDS and titled > TITLED * len(words)


def is_name(line: str, match: re.Match[str]) -> bool:
    is_word = any(word.lower() not in NO_NAMES for word in match[0].split())
    return is_word and len(match[0]) > 1 and INSIDE.search(line, max(0, match.start() - 2), match.start()) is not None
