"""Sensitive data never reaches a log: `mask_logs` masks every record of the `recollect` loggers, for all handlers.

A filter on a logger does not see what its children log, and a filter on a handler guards that handler alone. So each
logger of ours gets the filter: those that exist at once, a later one when it makes its first record. The hook for that
is the record factory, which runs before a logger's filters; it passes everything on and looks at the name only.
Records of other libraries are not touched. `wire` calls `mask_logs` before anything is logged; twice does no harm.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from typing import Any

from recollect.model.sensitive import masked, masked_data

ROOT = "recollect"
# What every record has. Anything else came in as `extra`.
USUAL = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class Masking(logging.Filter):
    """Lets every record pass; masks those of our tree in place."""

    def __init__(self) -> None:
        super().__init__(ROOT)

    def filter(self, record: logging.LogRecord) -> bool:
        if super().filter(record):
            mask_message(record)
            mask_exception(record)
            mask_extra(record)
        return True


def mask_message(record: logging.LogRecord) -> None:
    """The message is judged whole, because a number's label may be in the format and the number in an argument."""
    told = message(record)
    if (safe := masked(told)) != told:
        record.msg, record.args = safe, ()
    elif record.args:
        record.args = masked_data(record.args)


def message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    # An argument's __str__ may raise anything. A log line must not break its caller, nor be printed raw to stderr.
    except Exception as error:  # noqa: BLE001
        record.msg, record.args = f"{masked(str(record.msg))} (arguments not shown: {type(error).__name__})", ()
        return str(record.msg)


def mask_exception(record: logging.LogRecord) -> None:
    """Formatters print `exc_text` as it is; the exception itself goes, or a handler could print it again."""
    if record.exc_info and record.exc_info[0]:
        told = record.exc_text or "".join(traceback.format_exception(*record.exc_info)).rstrip("\n")
        if (safe := masked(told)) != told:
            record.exc_info, record.exc_text = None, safe
    elif record.exc_text:
        record.exc_text = masked(record.exc_text)
    if record.stack_info:
        record.stack_info = masked(record.stack_info)


def mask_extra(record: logging.LogRecord) -> None:
    for name in vars(record).keys() - USUAL:
        setattr(record, name, masked_data(getattr(record, name), name))


MASKING = Masking()


class Guarding:
    """A record factory that puts the filter on the logger of ours that is about to handle the record."""

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
    if not isinstance(make, Guarding):
        logging.setLogRecordFactory(Guarding(make))


def is_ours(name: str) -> bool:
    return name == ROOT or name.startswith(f"{ROOT}.")
