"""A small document to try the room with, and questions that it answers."""

from __future__ import annotations

EXAMPLE_NAME = "Example - bicycle workshop.md"
EXAMPLE_QUESTIONS = (
    "How much is a tyre change?",
    "How long is the guarantee on repairs?",
    "When is the workshop closed?",
)
EXAMPLE = """# The bicycle workshop

This is an example. Ask about it, follow a citation to its place, and delete it when you have seen enough.

## Prices

A tyre change costs 15 euros, the tyre itself not included. A full service costs 79 euros and takes two days.
New brake pads cost 22 euros for each wheel, with fitting.

## Opening hours

The workshop opens at nine on weekdays and at ten on Saturdays. It is closed on Sundays and in the first week of August.

## Guarantee

The guarantee on repairs is two years. It does not cover tubes, chains and other parts that wear out.
Bring the receipt; without it we look the repair up by the number of the frame.
"""
