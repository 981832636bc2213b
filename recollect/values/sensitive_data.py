"""Sensitive data: find and mask e-mail addresses, phone numbers, payment cards, IBANs and national ids.

Code that writes text where others read it calls `mask_text`, or `mask_data` for nested values. A number counts only if
the library for it says that it is valid; where that proves little, a label such as "BSN" must precede it. A label of
something else, such as "Order 4111...", keeps the number. Masking twice changes nothing. `mask_logs` masks every record
of the `recollect` loggers.
"""

from __future__ import annotations

import logging
import re
import tomllib
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any, Literal

Kind = Literal["e-mail", "phone", "card", "IBAN", "id"]

# Six digits, whatever stands between them; or the middle of a codice fiscale, which has no six.
ENOUGH_DIGITS = re.compile(r"\d(?:(?:[^\w\n]{0,3}\d){5,}|\d[A-Za-z]\d\d[A-Za-z]\d{3})")
BEFORE, AFTER = 70, 40  # characters around such digits that are read: the label, and the letters of an IBAN
# Other forms of the same characters, one for one, so that every place stays where it was.
PLAIN = str.maketrans(
    {0xFF01 + i: 0x21 + i for i in range(94)}
    | {zero + i: 0x30 + i for zero in (0x660, 0x6F0, 0x966) for i in range(10)}
    | dict.fromkeys([*range(0x2010, 0x2016), 0x2212], "-")
    | dict.fromkeys([0xA0, 0x2007, 0x2009, 0x202F, 0x3000], " ")
)
IDEOGRAPH = re.compile(r"[\u3400-\u9fff]")
NEAR = 30  # characters within which an ideograph makes a text Chinese
LABEL_CHARS = 60  # before a number, where its label is looked for
SHORTEST_PIECE = 3  # characters; a shorter part of something sensitive could be anything
PIECE = "[masked]"  # replaces a part of sensitive data


@dataclass(frozen=True, slots=True)
class Sensitive:
    kind: Kind
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class NationalId:
    module: str
    form: str = ""
    label: str = ""
    after_label: str = ""


@dataclass(frozen=True, slots=True)
class Patterns:
    """The content of sensitive_data.toml, which explains it."""

    email: str
    iban: str
    card: str
    start: str
    end: str
    harmless: str
    phone_abroad: str
    phone_chinese: str
    phone_any: str
    phone_label: str
    other_label: str
    filler: str
    regions: Sequence[str]
    issued_cards: str
    phone_forms: Mapping[str, str]
    national_ids: Sequence[NationalId]


@cache
def load_patterns() -> Patterns:
    listed = tomllib.loads(files("recollect.values").joinpath("sensitive_data.toml").read_text("utf-8"))
    first, last = listed.pop("harmless_start"), listed.pop("harmless_end")
    harmless = f"{first}(?:{'|'.join(listed['harmless'])}){last}"
    national_ids = [NationalId(**each) for each in listed["national_ids"]]
    return Patterns(**{**listed, "harmless": harmless, "national_ids": national_ids})


def mask_text(text: str) -> str:
    """Return the text with a marker such as `[e-mail]` in place of each find."""
    return mask_after_label("", text)


def mask_data(data: Any, key: str = "") -> Any:
    """Mask every string inside mappings, lists and tuples. Keys stay, and count as labels of their values."""
    if isinstance(data, str):
        return mask_after_label(format_label(key), data)
    if isinstance(data, Mapping):
        return {name: mask_data(value, str(name)) for name, value in data.items()}
    if isinstance(data, list | tuple):
        values = [mask_data(value, key) for value in data]
        return values if isinstance(data, list) else tuple(values)
    return data


def find_sensitive_pieces(texts: Iterable[str]) -> frozenset[str]:
    """Return what a reply could repeat of the sensitive data in some texts: each run of letters and digits, the name in
    an e-mail address, the first and last digits of a number."""
    found: set[str] = set()
    for text in texts:
        for find in find_sensitive(text):
            value = text[find.start : find.end]
            value = value.partition("@")[0] if find.kind == "e-mail" else value
            joined = re.sub(r"[\W_]", "", value)
            runs = [*re.findall(r"[^\W_]+", value), joined]
            ends = [] if find.kind == "e-mail" else [joined[:4], joined[:6], joined[-4:]]
            found.update(run.casefold() for run in (*runs, *ends) if len(run) >= SHORTEST_PIECE)
    return frozenset(found)


def mask_pieces(text: str, pieces: frozenset[str]) -> str:
    """Return the text masked, with another marker in place of each of these pieces that stands alone."""
    if not pieces:
        return text
    listed = "|".join(map(re.escape, sorted(pieces, key=len, reverse=True)))
    return re.sub(rf"(?<![^\W_])(?:{listed})(?![^\W_])", PIECE, mask_text(text), flags=re.IGNORECASE)


def find_sensitive(text: str) -> list[Sensitive]:
    """Return the finds in the order of the text. Of overlapping finds the longest counts."""
    if "@" not in text and "＠" not in text and not ENOUGH_DIGITS.search(text):
        return []
    plain = text if text.isascii() else text.translate(PLAIN)
    emails = compile_pattern(load_patterns().email).finditer(plain) if "@" in plain else ()
    found = [Sensitive("e-mail", *match.span()) for match in emails]
    for start, end in find_passages(plain):
        found += [Sensitive(each.kind, start + each.start, start + each.end) for each in find_numbers(plain[start:end])]
    return drop_overlaps(found, len(text))


def mask_after_label(label: str, text: str) -> str:
    # A number next to another one may be recognized only after that one is masked, so repeat until none is found.
    while found := [find for find in find_sensitive(label + text) if find.start >= len(label)]:
        for find in reversed(found):
            text = f"{text[: find.start - len(label)]}[{find.kind}]{text[find.end - len(label) :]}"
    return text


def format_label(key: str) -> str:
    """Return a key as a label: `customerPhone` as `customer_Phone: `. Digits of a key are not part of the number."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", re.sub(r"[\d@＠]", "", key))
    return f"{words}: " if words else ""


def drop_overlaps(found: list[Sensitive], length: int) -> list[Sensitive]:
    taken, kept = bytearray(length), []
    for find in sorted(found, key=lambda find: (find.start - find.end, find.start)):
        if not any(taken[find.start : find.end]):
            taken[find.start : find.end] = b"\1" * (find.end - find.start)
            kept.append(find)
    return sorted(kept, key=lambda find: find.start)


def find_passages(text: str) -> list[tuple[int, int]]:
    """Return the parts of the text that contain enough digits to be searched for numbers."""
    found: list[tuple[int, int]] = []
    for match in ENOUGH_DIGITS.finditer(text):
        start, end = max(0, match.start() - BEFORE), match.end() + AFTER
        if found and start <= found[-1][1]:
            start = found.pop()[0]
        found.append((start, end))
    return found


def find_numbers(text: str) -> Iterator[Sensitive]:
    for match in compile_pattern(rf"(?<![A-Za-z0-9_])(?={load_patterns().iban})").finditer(text):
        if end := find_iban_end(text, match.start()):
            yield Sensitive("IBAN", match.start(), end)
    text = compile_pattern(load_patterns().harmless).sub(lambda match: "~" * len(match[0]), text)
    if ENOUGH_DIGITS.search(text):
        for start, end in find_unlabelled(text, load_patterns().card):
            digits = re.sub(r"\D", "", text[start:end])
            if compile_pattern(load_patterns().issued_cards).fullmatch(digits) and is_valid("luhn", digits):
                yield Sensitive("card", start, end)
        yield from find_national_ids(text)
        yield from find_phones(text)


def find_iban_end(text: str, start: int) -> int | None:
    """Return where an IBAN ends: the longest valid part, because words may follow it like further groups."""
    longest = compile_pattern(load_patterns().iban).match(text, start)
    ends = range(longest.end() if longest else start, start + 14, -1)
    whole = (end for end in ends if not text[end : end + 1].isalnum() or not text[end : end + 1].isascii())
    return next((end for end in whole if is_valid("iban", text[start:end].rstrip())), None)


def find_national_ids(text: str) -> Iterator[Sensitive]:
    for known in load_patterns().national_ids:
        spans = [*find_unlabelled(text, known.form)] if known.form else []
        if known.label:
            spans += find_labelled(text, known.after_label, known.label)
        for start, end in spans:
            if not known.module or is_valid(known.module, text[start:end]):
                yield Sensitive("id", start, end)


def find_phones(text: str) -> Iterator[Sensitive]:
    patterns = load_patterns()
    for match in compile_pattern(patterns.phone_abroad).finditer(text):
        yield from find_phone_at(text, *match.span(), None)
    for region, form in patterns.phone_forms.items():
        for start, end in find_unlabelled(text, form):
            yield from find_phone_at(text, start, end, region)
    for start, end in find_unlabelled(text, patterns.phone_chinese):
        if IDEOGRAPH.search(text, max(0, start - NEAR), end + NEAR):
            yield from find_phone_at(text, start, end, "CN")
    for start, end in find_labelled(text, patterns.phone_any, patterns.phone_label):
        yield from next(filter(None, (find_phone_at(text, start, end, region) for region in patterns.regions)), [])


def find_phone_at(text: str, start: int, end: int, region: str | None) -> list[Sensitive]:
    """Return the phone number at the beginning of the part; one inside it would be the rest of a longer number."""
    from phonenumbers import Leniency, PhoneNumberMatcher

    for match in PhoneNumberMatcher(text[start:end], region, leniency=Leniency.VALID):
        if match.start <= 1:
            return [Sensitive("phone", start + match.start, start + match.end)]
    return []


def find_unlabelled(text: str, form: str) -> Iterator[tuple[int, int]]:
    """Yield where the form occurs, unless a label says that it is something else."""
    spans = find_form(text, form)
    return (span for span in spans if not has_label(text, span[0], load_patterns().other_label))


def find_labelled(text: str, form: str, label: str) -> Iterator[tuple[int, int]]:
    return (span for span in find_form(text, form) if has_label(text, span[0], label))


def find_form(text: str, form: str) -> Iterator[tuple[int, int]]:
    pattern = f"{load_patterns().start}(?:{form}){load_patterns().end}"
    return (match.span() for match in compile_pattern(pattern).finditer(text))


def has_label(text: str, start: int, label: str) -> bool:
    before = text[max(0, start - LABEL_CHARS) : start]
    return compile_pattern(rf"(?<![A-Za-z])(?:{label}){load_patterns().filler}").search(before) is not None


def is_valid(module: str, number: str) -> bool:
    return bool(import_module(f"stdnum.{module}").is_valid(number.replace(" ", "").upper()))


@cache
def compile_pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII | re.IGNORECASE)


# Logs ---------------------------------------------------------------------------------------------------------------

ROOT = "recollect"
# What every record has. Anything else came in as `extra`.
USUAL = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class MaskingFilter(logging.Filter):
    """Lets every record pass; masks those of our loggers in place."""

    def __init__(self) -> None:
        super().__init__(ROOT)

    def filter(self, record: logging.LogRecord) -> bool:
        if super().filter(record):
            mask_message(record)
            mask_exception(record)
            for name in vars(record).keys() - USUAL:
                setattr(record, name, mask_data(getattr(record, name), name))
        return True


def mask_message(record: logging.LogRecord) -> None:
    """Mask the formatted message, because a number's label may be in the format and the number in an argument."""
    message = format_message(record)
    if (safe := mask_text(message)) != message:
        record.msg, record.args = safe, ()
    elif record.args:
        record.args = mask_data(record.args)


def format_message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    # An argument's __str__ may raise anything. A log line must not break its caller, nor be printed raw to stderr.
    except Exception as error:  # noqa: BLE001
        record.msg, record.args = f"{mask_text(str(record.msg))} (arguments not shown: {type(error).__name__})", ()
        return str(record.msg)


def mask_exception(record: logging.LogRecord) -> None:
    """Mask the traceback. Formatters print `exc_text` as it is; the exception itself is dropped, so that no handler
    prints it again."""
    if record.exc_info and record.exc_info[0]:
        message = record.exc_text or "".join(traceback.format_exception(*record.exc_info)).rstrip("\n")
        if (safe := mask_text(message)) != message:
            record.exc_info, record.exc_text = None, safe
    elif record.exc_text:
        record.exc_text = mask_text(record.exc_text)
    if record.stack_info:
        record.stack_info = mask_text(record.stack_info)


MASKING = MaskingFilter()


class MaskingRecordFactory:
    """A record factory that adds the filter to the logger that is about to handle the record. A filter on a logger does
    not see its children's records, and one on a handler covers that handler alone: so each of our loggers gets it."""

    def __init__(self, make: Callable[..., logging.LogRecord]) -> None:
        self.make = make

    def __call__(self, name: str, *args: Any, **kwargs: Any) -> logging.LogRecord:
        if is_ours(name):
            logging.getLogger(name).addFilter(MASKING)
        return self.make(name, *args, **kwargs)


def mask_logs() -> None:
    for name in [ROOT, *filter(is_ours, list(logging.root.manager.loggerDict))]:
        logging.getLogger(name).addFilter(MASKING)
    make = logging.getLogRecordFactory()
    if not isinstance(make, MaskingRecordFactory):
        logging.setLogRecordFactory(MaskingRecordFactory(make))


def is_ours(name: str) -> bool:
    return name == ROOT or name.startswith(f"{ROOT}.")
