"""Sensitive data: what is personal is masked wherever it stands, what only looks like it stays, and no log shows it.

In the tables « » stand around what must be found. The numbers are the published test or documentation values.
"""

from __future__ import annotations

import io
import json
import logging
import re
import subprocess
import sys
import uuid
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.values.sensitive_data import Sensitive, find_sensitive, mask_data, mask_logs, mask_text

PERSONAL = {
    "e-mail": [
        "Write to «zhang.san+news@mail.example.com».",
        "邮箱是«li@example.com.cn»，谢谢",
        "mailto:«o'brien@example.ie»",
        """{"to": '«anna@xn--bcher-kva.example»'}""",
        "«jürgen@müller.example» hat geschrieben",
        "＜«ann＠example．com»＞",
        "from=«a_b-c@sub.example.org», to=«d@example.net»",
    ],
    "phone": [
        "Call «+1 201-555-0123» now",
        "my number: «+44 20 7946 0958».",
        "«+44 (0)20 7946 0958»",
        "«+49 30 901820» oder «+33 6 12 34 56 78»",
        "«+86 138 1234 5678»",
        "电话：«＋８６１３８１２３４５６７８»",
        "(office) «(201) 555-0123»",
        "«201-555-0123» or «201.555.0124»",
        "«1-800-555-0199»",
        "just in case: «201-555-0123»",
        "to order, call «201-555-0123»",
        "my phone number is «020 7946 0958», thanks",
        "you can call me on «07400 123456»",
        "I moved, «07400 123456» is new",
        "Tel. «(030) 901820»",
        "Telefon: «030/901820»",
        "Handy «0151 23456789»",
        "mon portable est le «06 12 34 56 78»",
        "«06.12.34.56.78»",
        "mi móvil es «612 34 56 78»",
        "WhatsApp «98765 43210»",
        "fale comigo: «(11) 96123-4567»",
        "携帯は«090-1234-5678»です",
        "«010-1234-5678»",
        "text me: «2015550123»",
        "phone=«13812345678»",
        "我的手机是«13812345678»",
        "打«138-1234-5678»找我",
        "«13812345678»是我的号码",
        "«13812345678»,«13800138000»都可以",
        "公司座机«010-12345678»转8001",
        "WHERE phone = '«13812345678»'",
        "tel «0086-13812345678»",
    ],
    "card": [
        "Card «4111 1111 1111 1111», exp 12/29",
        "«4111111111111111»",
        "«5555-5555-5555-4444» 123",
        "«2223003122003222»",
        "«3782 822463 10005»",
        "«378282246310005»",
        "«6011111111111117»",
        "«30569309025904»",
        "«3530111333300000»",
        "我的银行卡号是«6212345678900000003»。",
        "刷«6212 3456 7890 1232»",
    ],
    "IBAN": [
        "IBAN «DE89 3704 0044 0532 0130 00»",
        "to «GB29NWBK60161331926819» today",
        "«FR14 2004 1010 0505 0001 3M02 606» BANK",
        "«nl91abna0417164300»",
        "账户«ES9121000418450200051332»。",
        "«MT84MALT011000012345MTLCAST001S»",
        "«NO93 8601 1117 947»",
    ],
    "id": [
        "my SSN is «536-90-4399»",
        "ssn: «536904399»",
        "«536-90-4399»",
        "NI number «AB 12 34 56 C»",
        "«AB123456C»",
        "身份证号«11010519491231002X»",
        "身份证«11010519491231002x»，请查收",
        "«110105 19491231 002X»",
        "Steuer-ID: «36 574 261 809»",
        "Steueridentifikationsnummer «36574261809»",
        "numéro «2 95 10 99 126 111 93»",
        "«295109912611193»",
        "DNI «54362315K»",
        "«54362315-K»",
        "NIE «X-2482300W»",
        "«RCCMNL83S18D969H»",
        "Aadhaar «234123412346»",
        "«2341 2341 2346»",
        "cpf: «39053344705»",
        "«390.533.447-05»",
        "BSN «111222333»",
        "burgerservicenummer is «1112.22.333»",
        "«971013-9019902»",
        "«756.9217.0769.85»",
        "SIN: «123-456-782»",
        "PESEL «44051401359»",
    ],
}

HARMLESS = [
    # What a label says is something else.
    *("Order 4111111111111111 was shipped", "order no. 20240501123456", "order id: 4111 1111 1111 1111"),
    *(
        "订单号13812345678已发货",
        "快递单号：13812345678",
        "运单号 6212345678901232",
        "学号13812345678",
        "第12345678号文件",
    ),
    *("invoice #201-555-0123", "Ticket 201-555-0123", "ORD-201-555-0123", "tracking number 9400111899223100001234"),
    *("user_id = 4111111111111111", "WHERE phone_id = 2015550123", "EAN 4006381333931", "/items/4111111111111111"),
    # Dates and times.
    *("It was 2026-11-16 at 10:30.", "2026-11-16T03:34:09.123456+00:00", "2026-11-16 03:34:09,123 INFO"),
    *("20261116T033409Z", "16.11.2026 and 11/16/2026", "call me on 2026-11-16 at 10:30", "phone 20261116"),
    *(
        "会议在2026-11-16，14:30到15:45",
        "2026年11月16日",
        "1:00:00, 10:30:45",
        "GMT+08:00",
        "1700000000",
        "1700000000000",
    ),
    *("between 1999 and 2026, 1999-2026", "years 1990 1991 1992 1993", "timestamp 1700000000000000000"),
    # Amounts and measures.
    *("It costs $1,234,567.89", "EUR 12345678.90", "12 345 678 €", "call 1,234,567 times", "预算是12345678元"),
    *("price 1999.99, then 2999.99", "5 GB of 16777216 bytes", "3.14159265358979", "39.904211, 116.407395"),
    *("86 095 742 719 people", "The call lasted 1234567890 ns", "phones sold: 12345678", "我今年25岁，住在3号楼1204室"),
    *("1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12", "01 02 03 04 05", "1+1=2, 5+10000000", "C++20 and +12 points"),
    # What machines write.
    *("550e8400-e29b-41d4-a716-446655440000", "12345678-1234-4234-8234-123456789012", "0x7ffd12345678"),
    *("commit 4f3c2b1a9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a", "ab123456c", "version 1.22.333.4444", "Chrome/126.0.6478.127"),
    *("192.168.100.200:5432 and 10.0.0.1/24", "phone at 192.168.100.200", "2001:0db8:85a3:0000:0000:8a2e:0370:7334"),
    "SELECT * FROM t WHERE id = 123456789 AND n IN (10000001, 10000002)",
    *("INSERT INTO t VALUES (1234567890, '2026-01-01', 12345678)", "LIMIT 100 OFFSET 100000000", "numpy 2.2.1"),
    *("ISBN 978-3-16-148410-0", "ISBN 0-306-40615-2", "9783161484100", "node@18.0.0", "icon@2x.png"),
    *("git@github.com:owner/project.git", "@alice and @bob_99", "user@localhost", "a @ b . com", "@app.route"),
    # Numbers that prove nothing without a label.
    *("111222333", "the number 111222333 is bare", "536904399", "36574261809", "39053344705", "44051401359"),
    *("2015550123", "13812345678", "020 7946 0958", "[phone] 2015550123", "[e-mail] [card] [IBAN] [id]"),
    # Wrong check digits, forms and ranges.
    *("4111 1111 1111 1112", "1234 5678 9012 3456", "9111111111111111", "0000000000000000", "+1 555"),
    *(
        "DE89 3704 0044 0532 0130 01",
        "DE12 and AB34 are codes",
        "tel 201.555.0124121",
        "000-12-3456",
        "666-12-3456",
        "QQ123456C",
    ),
    *("11010519491231002Y", "110105194912310021", "54362315A", "RCCMNL83S18D969A", "2341 2341 2347"),
    *("390.533.447-06", "BSN 111222334", "971013-9019903", "756.9217.0769.84"),
]

ROWS = [(kind, row) for kind, rows in PERSONAL.items() for row in rows]
CARD, MAIL, PHONE = "4111 1111 1111 1111", "anna@example.com", "020 7946 0958"


def said(row: str) -> str:
    return re.sub("[«»]", "", row)


@pytest.mark.parametrize(("kind", "row"), ROWS, ids=[row for _, row in ROWS])
def test_personal_data_is_found_where_it_stands_and_nothing_around_it(kind: str, row: str) -> None:
    text = said(row)

    assert [(find.kind, text[find.start : find.end]) for find in find_sensitive(text)] == [
        (kind, value) for value in re.findall("«(.*?)»", row)
    ]
    assert mask_text(text) == re.sub("«.*?»", f"[{kind}]", row)


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_looks_like_personal_data_stays(text: str) -> None:
    assert find_sensitive(text) == []
    assert mask_text(text) == text


def test_of_finds_that_overlap_the_longest_counts() -> None:
    assert mask_text("x+4111111111111111@example.com") == "[e-mail]"
    assert mask_text("07400 123456.li@example.com") == "07400 [e-mail]"
    assert find_sensitive("tel GB29 NWBK 6016 1331 9268 19") == [Sensitive("IBAN", 4, 31)]


def test_what_can_be_recognised_only_when_its_neighbour_is_gone_is_masked_too() -> None:
    assert len(find_sensitive("+49 30 901820 010-1234-5678")) == 1
    assert mask_text("+49 30 901820 010-1234-5678") == "[phone] [phone]"


def test_far_apart_in_a_long_text_each_is_found_in_its_place() -> None:
    filler = "Nothing to see here, 我们继续。" * 500
    text = f"{filler}{MAIL} {filler}my phone is {PHONE}. {filler}{CARD}"

    assert mask_text(text) == f"{filler}[e-mail] {filler}my phone is [phone]. {filler}[card]"


pieces = st.sampled_from([*(said(row) for _, row in ROWS), *HARMLESS, "[phone]", "phone ", "号", " ", ",", "-"])
noise = st.text(st.sampled_from("0123456789 +-().,:/@[]aAXZ号电话"), max_size=30)


@given(st.lists(pieces | noise | st.text(max_size=8), max_size=5).map("".join))
def test_masking_twice_changes_nothing(text: str) -> None:
    once = mask_text(text)

    assert mask_text(once) == once
    assert find_sensitive(once) == []


@given(st.lists(pieces | noise, max_size=5).map("".join))
def test_finds_are_in_order_inside_the_text_and_apart(text: str) -> None:
    found = find_sensitive(text)

    assert all(0 <= find.start < find.end <= len(text) for find in found)
    assert all(one.end <= other.start for one, other in pairwise(found))


def test_in_nested_data_every_string_is_masked_and_its_key_is_its_label() -> None:
    data = {
        "customerPhone": "2015550123",
        "phones": ["2015550123", {"note": f"or {MAIL}"}],
        "order_id": "4111111111111111",
        MAIL: (CARD, 7, None, True),
        "ssn2": "536904399",
    }

    assert mask_data(data) == {
        "customerPhone": "[phone]",
        "phones": ["[phone]", {"note": "or [e-mail]"}],
        "order_id": "4111111111111111",
        MAIL: ("[card]", 7, None, True),
        "ssn2": "[id]",
    }
    assert data["customerPhone"] == "2015550123"


def test_a_text_without_candidates_imports_no_library() -> None:
    code = (
        "import sys; from recollect.values.sensitive_data import mask_text;"
        "mask_text('We met on 3 May 2026 at 10:30.');"
        "print([name for name in ('phonenumbers', 'stdnum') if name in sys.modules])"
    )

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


class Keeping(logging.Handler):
    """A handler as others write them: it prints through a formatter and looks at the record itself, too."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = io.StringIO()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)
        self.seen.write(self.format(record) + "\n")
        self.seen.write(json.dumps(vars(record), default=repr, ensure_ascii=False) + "\n")


@pytest.fixture
def root() -> Iterator[Keeping]:
    handler, factory = Keeping(), logging.getLogRecordFactory()
    logging.root.addHandler(handler)
    mask_logs()
    mask_logs()
    yield handler
    logging.root.removeHandler(handler)
    logging.setLogRecordFactory(factory)


class Broken:
    def __str__(self) -> str:
        raise RuntimeError(MAIL)


class Customer:
    def __str__(self) -> str:
        return f"Anna <{MAIL}>"


def new_logger(parent: str = "recollect") -> logging.Logger:
    """One that was not there when the logs were masked."""
    return logging.getLogger(f"{parent}.{uuid.uuid4()}")


@pytest.mark.parametrize(
    ("message", "args", "extra", "expected"),
    [
        (f"wrote to {MAIL}", (), {}, "wrote to [e-mail]"),
        ("wrote to %s about %d things", (MAIL, 3), {}, "wrote to [e-mail] about 3 things"),
        ("wrote to %s", (Customer(),), {}, "wrote to Anna <[e-mail]>"),
        ("phone %s failed", (PHONE,), {}, "phone [phone] failed"),
        ("phone %d failed", (2015550123,), {}, "phone [phone] failed"),
        ("card %(card)s", ({"card": CARD},), {}, "card [card]"),
        ("hello %(name)s", ({"name": "Anna", "mail": MAIL},), {}, "hello Anna"),
        ("hello", (), {"customer": {"mail": [MAIL]}}, "hello"),
        (f"{MAIL} %s %s", (MAIL,), {}, "[e-mail] %s %s (arguments not shown: TypeError)"),
        ("hello %s", (Broken(),), {}, "hello %s (arguments not shown: RuntimeError)"),
    ],
)
@pytest.mark.parametrize("name", ["recollect", "recollect.worker", ""])
def test_no_handler_sees_what_is_sensitive_in_a_record_of_ours(
    root: Keeping, name: str, message: str, args: tuple[Any, ...], extra: dict[str, Any], expected: str
) -> None:
    log = logging.getLogger(name) if name else new_logger()

    log.warning(message, *args, extra=extra)

    seen = root.seen.getvalue()
    assert seen.startswith(expected + "\n")
    assert not any(secret in seen for secret in (MAIL, PHONE, CARD, "2015550123"))


def test_no_handler_sees_what_is_sensitive_in_an_exception_or_its_cause(root: Keeping) -> None:
    try:
        try:
            raise KeyError(MAIL)
        except KeyError as cause:
            raise ValueError(f"no card {CARD}") from cause
    except ValueError:
        log = new_logger("recollect.worker")
        log.exception("failed", stack_info=True)  # the stack shows this line: anna@example.com

    seen = root.seen.getvalue()
    assert "KeyError: '[e-mail]'" in seen
    assert "ValueError: no card [card]" in seen
    assert "the stack shows this line: [e-mail]" in seen
    assert MAIL not in seen
    assert CARD not in seen


def test_an_exception_without_sensitive_data_reaches_the_handlers_whole(root: Keeping) -> None:
    error = ValueError("harmless")

    new_logger().error("failed", exc_info=error)

    [record] = root.records
    assert record.exc_info is not None
    assert record.exc_info[1] is error


@pytest.mark.parametrize("name", ["recollections", "other", "other.recollect"])
def test_records_of_other_libraries_are_not_touched(root: Keeping, name: str) -> None:
    logging.getLogger(name).warning("wrote to %s", MAIL)

    assert root.seen.getvalue().startswith(f"wrote to {MAIL}\n")
    assert logging.getLogger(name).filters == []
