"""Token counts, estimated without a tokenizer: like the pre-tokenizer of a byte-pair encoder, plus a share of the extra
bytes of non-ASCII text. The estimate is a few per cent high on English, code and Chinese (docs/why/recall.md), so
budgets hold."""

from __future__ import annotations

import math
import re

PIECE = re.compile(r" ?[A-Za-z]{1,9}|\d{1,3}| ?[!-/:-@\[-`{-~]{1,3}\n*|\s+")
TOKENS_PER_EXTRA_BYTE = 0.65


def count_tokens(text: str) -> int:
    pieces = len(PIECE.findall(text))
    if text.isascii():
        return pieces
    extra = len(text.encode()) - len(text)
    return pieces + math.ceil(extra * TOKENS_PER_EXTRA_BYTE)
