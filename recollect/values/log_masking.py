"""Keep sensitive data out of logs: `mask_logs` masks every record of the `recollect` loggers, for all handlers.

A filter on a logger does not see its children's records, and a filter on a handler covers that handler alone. So each
of our loggers gets the filter: existing ones at once, later ones with their first record, through the record factory,
which runs before a logger's filters. Records of other libraries are not touched. `bootstrap` calls `mask_logs` before
anything is logged; calling it twice is safe.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from typing import Any

from recollect.values.sensitive_data import mask_data, mask_text

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
            mask_extra(record)
        return True


def mask_message(record: logging.LogRecord) -> None:
    """Mask the formatted message, because a number's label may be in the format and the number in an argument."""
    told = format_message(record)
    if (safe := mask_text(told)) != told:
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
        told = record.exc_text or "".join(traceback.format_exception(*record.exc_info)).rstrip("\n")
        if (safe := mask_text(told)) != told:
            record.exc_info, record.exc_text = None, safe
    elif record.exc_text:
        record.exc_text = mask_text(record.exc_text)
    if record.stack_info:
        record.stack_info = mask_text(record.stack_info)


def mask_extra(record: logging.LogRecord) -> None:
    for name in vars(record).keys() - USUAL:
        setattr(record, name, mask_data(getattr(record, name), name))


MASKING = MaskingFilter()


class MaskingRecordFactory:
    """A record factory that adds the filter to the logger that is about to handle the record."""

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
