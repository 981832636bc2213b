"""Dates that PostgreSQL has and Python has not, such as 'infinity' and 44 BC: read as the text that they are."""

from __future__ import annotations

from typing import Any

from psycopg import DataError
from psycopg.abc import Buffer
from psycopg.types.datetime import DateLoader, TimestampLoader, TimestamptzLoader


class AnyDate(DateLoader):
    def load(self, data: Buffer) -> Any:
        try:
            return super().load(data)
        except DataError:
            return bytes(data).decode()


class AnyTimestamp(TimestampLoader):
    def load(self, data: Buffer) -> Any:
        try:
            return super().load(data)
        except DataError:
            return bytes(data).decode()


class AnyTimestamptz(TimestamptzLoader):
    def load(self, data: Buffer) -> Any:
        try:
            return super().load(data)
        except DataError:
            return bytes(data).decode()


LOADERS = {"date": AnyDate, "timestamp": AnyTimestamp, "timestamptz": AnyTimestamptz}
