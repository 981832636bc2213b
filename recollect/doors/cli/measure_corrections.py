"""`recollect eval corrections`: how well it is read out of a corrected query what was wrong with the first."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from recollect.doors.cli.options import Json
from recollect.doors.cli.paper import paper, said, say_json
from recollect.doors.cli.tables import table

COUNTED = ("expected", "made", "precision", "recall")

Pairs = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILE",
        help="JSON lines, one labelled pair of queries each; without, those that are shipped.",
        exists=True,
        dir_okay=False,
    ),
]


def corrections(files: Pairs = None, json: Json = False) -> None:
    """Compare generated with corrected queries, and count the pairs of which every change is found. Stores nothing."""
    from recollect.evals.corrections import SHIPPED, evaluate

    for path in files or [SHIPPED]:
        result = evaluate(path).to_dict()
        if json:
            say_json({"file": str(path), **result})
        else:
            show_corrections(path, result)


def show_corrections(path: Path, result: Mapping[str, Any]) -> None:
    rows = table("change", *COUNTED, title=str(path))
    for name, values in result["by_kind"].items():
        rows.add_row(name, *(f"{values[measure]:.4g}" for measure in COUNTED))
    console = paper()
    console.print(rows)
    for name, score in {**result["by_part"], "all": result, "what is learned": result["learned"]}.items():
        console.print(said(f"{name}: {score['right']} of {score['total']} right ({score['share']:.3f})"))
    console.print(said(f"{result['ms_per_pair']:.2f} ms per pair", "dim"))
    for wrong in result["wrong"]:
        expected, made = (", ".join(wrong[name]) or "nothing" for name in ("expected", "made"))
        console.print(said(f"wrong: {wrong['question']}: expected {expected}; made {made}", "dim"))
