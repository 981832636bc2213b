"""Lexer: a question as tokens: words, numbers, dates, quoted texts, and single Chinese characters.

Values of the data and names of the model are cut by the same rules, so that they can meet. Case and accents do not
count ("Sao Paulo" is "São Paulo"). Pure; any text gives tokens, never an error.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from recollect.model.text import CJK, stemmer
from recollect.sql.naming import singular

Key = tuple[str, ...]
MOST_TOKENS = 120
MOST_CHARS = 2_000
TOKEN = re.compile(
    rf"""\b[a-z]{{1,2}}[+-](?=$|[\s,.?!;)])|\d+(?:\.\d+)?(?:k|mn|bn)\b|\d{{4}}-\d\d?-\d\d?(?!\d)|\d{{4}}-\d\d(?![\d-])|\d+(?:,\d{{3}})+(?:\.\d+)?|\d+\.\d+|\d+(?:st|nd|rd|th)\b
    |\d+s\b|\d+|['’](?:s|d|ll|re|ve|m)\b|n['’]t\b|(?:(?!n['’]t\b)[^\W_{CJK}])+|[^\W_{CJK}]+|[{CJK}]
    |[<>!]=|<>|[<>=,;$€£%&/+#-]|[“”"]""",
    re.VERBOSE | re.IGNORECASE,
)
QUOTED = re.compile(r"""["“”]([^"“”]{1,200})["“”]|(?<![\w])['‘]([^'‘’]{1,200}?)['’](?!\w)""")
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
SHORT = re.compile(r"(\d+(?:\.\d+)?)(k|mn|bn)")  # 10k
TIMES = {"k": 1e3, "mn": 1e6, "bn": 1e9}
IRREGULAR = {
    form: verb
    for verb, forms in {
        "lead": ("led",), "teach": ("taught",), "drive": ("drove", "driven"), "write": ("wrote", "written"),
        "take": ("took", "taken"), "give": ("gave", "given"), "build": ("built",), "bring": ("brought",),
        "hold": ("held",), "keep": ("kept",), "sing": ("sang", "sung"), "speak": ("spoke", "spoken"),
        "run": ("ran", "running"), "oversee": ("oversaw", "overseen"), "sell": ("sold",), "buy": ("bought",),
    }.items()
    for form in forms
}  # fmt: skip
LEAST_DOER = 4  # letters
SYMBOLS = frozenset('-/+#"“”')


@dataclass(frozen=True, slots=True)
class Token:
    text: str  # as it was written
    low: str  # without case and accents
    stem: str
    start: int = 0
    quote: int = 0  # number of the quotation it stands in

    @property
    def is_number(self) -> bool:
        return NUMBER.fullmatch(self.low) is not None


def tokens_of(text: str) -> list[Token]:
    text = text[:MOST_CHARS]
    quotes = [(match.start(), match.end(), at) for at, match in enumerate(QUOTED.finditer(text), 1)]
    found = []
    for match in TOKEN.finditer(text):
        quote = next((at for start, end, at in quotes if start < match.start() < end - 1), 0)
        if match[0] not in SYMBOLS:
            found.append(token(match[0], match.start(), quote))
    return found[:MOST_TOKENS]


def token(text: str, start: int = 0, quote: int = 0) -> Token:
    low = folded(text)
    if short := SHORT.fullmatch(low):
        low = f"{float(short[1]) * TIMES[short[2]]:.0f}"
    return Token(text, low, stemmed(low), start, quote)


@lru_cache(maxsize=50_000)
def folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    apart = unicodedata.normalize("NFKD", text.replace("’", "'").casefold())
    return "".join(each for each in apart if not unicodedata.combining(each))


@lru_cache(maxsize=50_000)
def stemmed(low: str) -> str:
    """In the singular. Not the Snowball stem: to it \"regional\" is a region and \"purchasers\" are purchases."""
    return singular(low) if low.isascii() and low.isalpha() else low


@lru_cache(maxsize=50_000)
def key_of(text: str) -> Key:
    """The words, as they are."""
    return tuple(each.low for each in tokens_of(text))


@lru_cache(maxsize=50_000)
def stem_key(text: str) -> Key:
    """The words without their endings."""
    return tuple(each.stem for each in tokens_of(text))


def doer_roots(word: str) -> set[str]:
    """Who does it and what he does: an "advisor" advises, a "driver" drives."""
    low = folded(word)
    verbs = (low[:-2], f"{low[:-2]}e") if len(low) > LEAST_DOER and low.endswith(("er", "or")) else ()
    return {root_of(each) for each in (low, *verbs)}


@lru_cache(maxsize=50_000)
def root_of(word: str) -> str:
    """What "support", "supports" and "supporting" share; "led" is a form of "lead"."""
    low = folded(word)
    return stemmer()(IRREGULAR.get(low, low))
