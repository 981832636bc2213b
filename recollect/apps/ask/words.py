"""Words of a question: tokens, stems, split identifiers and the operator tables.

Chinese text is cut into single characters, so that the same span matching serves both languages. The tables are data
(operators.toml): kind -> value -> phrases.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

Phrase = tuple[str, ...]
MIN_ABBREVIATION, MAX_ABBREVIATION = 2, 5  # letters of an abbreviation
VOWELS = frozenset("aeiou")

HAN = "\u3400-\u9fff"
TOKEN = re.compile(
    rf"(?P<date>\d{{4}}-\d{{2}}(?:-\d{{2}})?)|(?P<number>(?:\d{{1,3}}(?:,\d{{3}})+|\d+)(?:\.\d+)?[万千亿]?(?![^\W{HAN}_]))|(?P<han>[{HAN}])"
    rf"|(?P<word>[^\W_{HAN}]+(?:_[^\W_{HAN}]+)*)|(?P<sign>[<>]=?|[=≥≤])"
    rf"|(?P<mark>[,.;:?!，。；：？！])"
)
QUOTED = re.compile(r"\"([^\"]+)\"|'([^']+)'(?!\w)|“([^”]+)”|‘([^’]+)’(?!\w)|`([^`]+)`|「([^」]+)」|《([^》]+)》")
CONTRACTION = re.compile(r"\b(\w+?)(n['’]t)\b", re.I)
POSSESSIVE = re.compile(r"(?<=\w)['’]s\b", re.I)
OPPOSITE = re.compile(r"(?:in|un|non|dis)-?(\w{3,})")
CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
IRREGULAR = {"people": "person", "children": "child", "men": "man", "women": "woman", "ca": "can", "wo": "will",
             "rating": "score", "ratings": "score"}  # fmt: skip
NUMBERS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "single": 1, "twice": 2, "dozen": 12, "twenty": 20, "fifty": 50, "hundred": 100,
    "thousand": 1000, "once": 1, "一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8,
    "九": 9, "十": 10,
}  # fmt: skip
MULTIPLES = {"": 1, "k": 1_000, "千": 1_000, "万": 10_000, "m": 1_000_000, "亿": 100_000_000}


@dataclass(frozen=True, slots=True)
class Token:
    """One word, number or Chinese character. `quote` numbers the quotation it stands in; 0 is outside of any."""

    text: str
    lower: str
    stem: str
    is_capital: bool = False
    quote: int = 0
    number: float | None = None
    mark: str = ""  # punctuation before it

    @property
    def is_letter(self) -> bool:
        """Whether it is a single capital, which is a name: "A customers" are some of them."""
        return self.is_capital and len(self.text) == 1 and self.text != "I"

    @property
    def is_plural(self) -> bool:
        return self.lower != self.stem and self.lower.endswith("s")

    @property
    def is_strong(self) -> bool:
        """Whether leaving it out would lose something that the user wrote deliberately."""
        return self.is_capital or bool(self.quote) or (self.number is not None and not self.lower.isalpha())


@dataclass(frozen=True, slots=True)
class Operator:
    kind: str
    value: str


def tokenize(text: str) -> tuple[Token, ...]:
    """Return the tokens of a question, in order."""
    plain = POSSESSIVE.sub(" ", CONTRACTION.sub(r"\1 not", text))
    quotes = [(each.start(), each.end()) for each in QUOTED.finditer(plain)]
    made: list[Token] = []
    mark, is_first = "", True
    for match in TOKEN.finditer(plain):
        word = match.group()
        if match.lastgroup == "mark":
            mark, is_first = word, is_first or word in ".?!。？！"
            continue
        quote = next((n for n, (start, end) in enumerate(quotes, 1) if start <= match.start() < end), 0)
        made.append(make_token(word, mark, quote, is_first))
        mark, is_first = "", False
    return tuple(made)


def make_token(word: str, mark: str, quote: int, is_first: bool) -> Token:
    lower = word.lower()
    lower = IRREGULAR.get(lower, lower)
    capital = any(each.isupper() for each in word) and (not is_first or (len(word) > 1 and word.isupper()))
    return Token(word, lower, stem_word(lower), capital, quote, read_number(word), mark)


def read_number(word: str) -> float | None:
    if word.lower() in NUMBERS:
        return float(NUMBERS[word.lower()])
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([km千万亿]?)", word.replace(",", "").lower())
    return float(match[1]) * MULTIPLES[match[2]] if match else None


@cache
def stemmer() -> Any:
    from Stemmer import Stemmer

    return Stemmer("english")


@lru_cache(maxsize=20_000)
def stem_word(word: str) -> str:
    """Return the stem of an English word; other words stay as they are."""
    if not word.isascii() or len(word) < 3 or not word.isalpha():
        return word
    word = IRREGULAR.get(word, word)
    return str(stemmer().stemWord(word))


def stem_phrase(text: str) -> Phrase:
    """Return a phrase as stems, Chinese characters one by one."""
    return tuple(token.stem for token in tokenize(text))


def drop_negation(word: str) -> str:
    """Return what a word is the opposite of, "active" for "inactive"; an empty string if it does not look like one."""
    match = OPPOSITE.fullmatch(word)
    return match[1] if match else ""


@lru_cache(maxsize=20_000)
def split_name(identifier: str) -> Phrase:
    """Return the words of an identifier: `InvoiceDate`, `cars_data` and `cell number` are two words each."""
    words: list[str] = []
    for part in re.split(r"[\W_]+", identifier):
        words += [expand_word(each.lower()) for each in CAMEL.findall(part)]
    return tuple(words) or (identifier.lower(),)


@cache
def expand_word(word: str) -> str:
    """Return the common word that part of a name abbreviates (`qty`, `prc`, `cust`), else the word itself."""
    known, is_said = load_common_words(), any((stem_word(word),) == phrase for phrase in load_concepts())
    if word in known or is_said or not MIN_ABBREVIATION <= len(word) <= MAX_ABBREVIATION or not word.isalpha():
        return word
    spellings = (word, word[:-1]) if word.endswith("s") else (word,)
    found = [each for each in known for short in spellings if is_abbreviation(short, each)]
    return min(found, key=lambda each: (len(each), each), default=word)


def is_abbreviation(short: str, word: str) -> bool:
    """Whether a name is the beginning of a word, or the word without most of its vowels: `desc`, `flt`, `arpt`."""
    left = len(word) - len(short)
    if left < 1 or len(short) < MIN_ABBREVIATION or short[0] != word[0]:
        return False
    if len(short) == MIN_ABBREVIATION:  # two letters stand only for a word that has no other consonants
        return short == word[0] + "".join(each for each in word[1:] if each not in VOWELS)
    if word.startswith(short):
        return left > 1 or word.endswith("e")
    letters = iter(word)
    has_few_vowels = VOWELS.isdisjoint(short[1:]) or short[:3] == word[:3]
    return left > 1 and has_few_vowels and all(letter in letters for letter in short)


@cache
def load_common_words() -> frozenset[str]:
    """Return the words that names of tables and columns are often made of."""
    return frozenset(word for _, phrase in table_rows("common") for word in phrase.split())


@cache
def load_tables() -> Mapping[str, Mapping[str, list[str]]]:
    return tomllib.loads((files(__package__) / "operators.toml").read_text(encoding="utf-8"))


def table_rows(kind: str) -> Iterable[tuple[str, str]]:
    """Yield (value, phrase) of a kind."""
    for value, phrases in load_tables()[kind].items():
        yield from ((value, phrase) for phrase in phrases)


SILENT = frozenset(("glue", "follow"))  # kinds of operators that ask for nothing: a misspelt word is none of them


@cache
def load_operators() -> tuple[Mapping[Phrase, tuple[Operator, ...]], Mapping[Phrase, tuple[Operator, ...]]]:
    """Return the operators by the stems of their phrase, and those that are matched as written."""
    stems: dict[Phrase, tuple[Operator, ...]] = {}
    written: dict[Phrase, tuple[Operator, ...]] = {}
    # In the order of the file: of two operators with the same phrase, the first is preferred.
    kinds = [kind for kind in load_tables() if kind not in ("concept", "common")]
    rows = [(Operator(kind, value), phrase) for kind in kinds for value, phrase in table_rows(kind)]
    for operator, phrase in rows:
        is_literal, key = make_key(operator.kind, phrase)
        table = written if is_literal else stems
        table[key] = (*table.get(key, ()), operator)
    return stems, written


def make_key(kind: str, phrase: str) -> tuple[bool, Phrase]:
    """Return whether a phrase is matched as written, and what it is found by. Stems would confuse the operator "named"
    with a column "names", and "order by" with "orders by"."""
    tokens = tokenize(phrase)
    is_literal = kind in ("order", "select") or (len(tokens) == 1 and phrase.endswith("ed"))
    return is_literal, tuple(token.lower if is_literal else token.stem for token in tokens)


def find_operators(tokens: Sequence[Token]) -> tuple[Operator, ...]:
    """Return the operators that the tokens name together."""
    stems, written = load_operators()
    found = stems.get(tuple(token.stem for token in tokens), ())
    return found + written.get(tuple(token.lower for token in tokens), ())


@cache
def load_concepts() -> Mapping[Phrase, frozenset[str]]:
    """Return the concepts that a phrase belongs to, by its stems."""
    found: dict[Phrase, set[str]] = {}
    for concept, phrase in table_rows("concept"):
        found.setdefault(stem_phrase(phrase), set()).add(concept)
    return {phrase: frozenset(each) for phrase, each in found.items()}


def list_operator_words() -> list[Phrase]:
    """Return the phrases of the operators that say something by themselves, as stems."""
    return [phrase for phrase, found in load_operators()[0].items() if not any(each.kind in SILENT for each in found)]


@cache
def longest_operator() -> int:
    return max(len(phrase) for table in load_operators() for phrase in table)


def is_chinese(text: str) -> bool:
    return bool(re.search(f"[{HAN}]", text))
