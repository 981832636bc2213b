"""Sensitive columns of a source: recognised by their name, or by what stands in them. Their values are never kept.

Values are judged by values/sensitive_data.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from recollect.apps.ask.interpret.words import split_name
from recollect.values.sensitive_data import find_sensitive, format_label

LOOKED_AT = 100
SHARE = 0.1  # of the values looked at
SECRETS = (
    "password", "passwd", "pwd", "secret", "token", "salt", "hash", "api key", "private key", "passphrase", "pin",
    "cvv", "cvc", "密码", "密钥",
)  # fmt: skip
PERSONAL = (
    "email", "e mail", "mail address", "phone", "telephone", "mobile", "cell", "fax", "ssn", "social security",
    "passport", "iban", "bic", "swift", "card number", "credit card", "cc number", "account number", "birth",
    "birthday", "birth date", "date of birth", "driver license", "license number", "national id", "tax id",
    "ip address", "salary", "wage", "card no", "dob", "tel", "电话", "手机", "邮箱", "身份证", "银行卡", "出生", "生日",
    "工资", "薪水", "薪资", "护照",
)  # fmt: skip
# Names written as one word, such as `emailaddr`, begin or end with one of these.
JOINED = ("email", "phone", "password", "passwd", "birthday", "birthdate", "salary", "passport")


def is_named_sensitive(name: str) -> bool:
    """Return whether a column's name says that its values are secret or personal."""
    words = split_name(name)
    text = f" {' '.join(words)} "
    for listed in (*SECRETS, *PERSONAL):
        if f" {listed} " in text or (not listed.isascii() and listed in text):
            return True
    return any(word.startswith(JOINED) or word.endswith(JOINED) for word in words)


def shows_sensitive(name: str, values: Sequence[str]) -> bool:
    """Return whether at least a tenth of the values are sensitive."""
    looked = values[:LOOKED_AT]
    return bool(looked) and sum(is_sensitive(name, value) for value in looked) >= SHARE * len(looked)


def without_sensitive(name: str, values: Sequence[str]) -> list[str]:
    """Return the values without single sensitive ones, such as an address in a column of notes."""
    return [value for value in values if not is_sensitive(name, value)]


def is_sensitive(name: str, value: str) -> bool:
    label = format_label(name)
    return any(find.end > len(label) for find in find_sensitive(label + value))
