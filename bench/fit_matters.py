"""`python -m bench.fit_matters FILE...`: fit learning/matters.py on groups of sentences of one matter.

    {"matter", "about", "questions", "states", "changes", "ends", "near"}     `near` are not of the matter

A question, a statement and a change of each group are drawn; of a page of groups each must be nearer to those of its
own group than to those of others. Prints, for matters that the fit has not seen, how often a statement of the matter of
a question is nearer to it than one of another matter (AUC), and how often nearer than 98 % of these; the same for a
statement and a later one that changes it. With `--write` writes the projection that was fitted on all of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from bench.evaluation import read_numbered_lines
from recollect.learning import matters
from recollect.learning.matters import WEIGHTS, scale_to_unit
from recollect.providers.local import LocalEmbedder
from recollect.values.text import is_cjk

Floats = NDArray[np.float64]
TARGET = Path(matters.__file__).parent / WEIGHTS
WIDTH = 96  # dimensions
PAGE = 64  # groups that are compared with each other
EPOCHS, RATE, SHRINK, SHARPNESS = 25, 1e-3, 3e-3, 12.0
FOLDS = 4
FAR = 0.98  # of the statements of other matters
LARGEST = 127  # of the whole numbers that are stored
PAIRS = ((0, 1), (0, 2), (1, 2))  # question and statement, question and change, statement and change


@dataclass(frozen=True, slots=True)
class Group:
    """The vectors of a matter's sentences: questions, statements, changes."""

    matter: str
    is_chinese: bool
    sides: tuple[Floats, Floats, Floats]


def fit(
    paths: Annotated[list[Path], typer.Argument(metavar="FILE", exists=True, dir_okay=False)],
    write: Annotated[bool, typer.Option(help="Write the projection into the package.")] = False,
) -> None:
    groups = [group for path in paths for group in read_groups(path)]
    names = sorted({group.matter for group in groups})
    np.random.default_rng(1).shuffle(names)
    folds = [frozenset(names[place::FOLDS]) for place in range(FOLDS)]
    for is_chinese in (False, True):
        rows = []
        for unseen in folds:
            fitted = fit_projection([group for group in groups if group.matter not in unseen])
            own = [group for group in groups if group.matter in unseen and group.is_chinese == is_chinese]
            plain = (np.eye(len(fitted[1])), np.zeros(len(fitted[1])))
            rows.append([*measure(own, *plain), *measure(own, *fitted)])
        figures = " ".join(f"{value:.3f}" for value in np.mean(rows, axis=0))
        typer.echo(
            f"{'Chinese' if is_chinese else 'English'}: plain and fitted (AUC, near) x (question, change) {figures}"
        )
    if write:
        projection, mean = fit_projection(groups)
        scale = np.abs(projection).max() / LARGEST
        whole = np.round(projection / scale).astype(np.int8)
        np.savez_compressed(TARGET, projection=whole, scale=scale, mean=mean.astype(np.float16))
        typer.echo(f"{len(groups)} groups: {TARGET.stat().st_size:,} bytes")


def read_groups(path: Path) -> Iterator[Group]:
    embedder = LocalEmbedder()
    for _, line in read_numbered_lines(path):
        given = json.loads(line)
        texts = given["questions"], given["states"], [*given["changes"], *given["ends"]]
        sides = tuple(embedder.embed_now(each).astype(np.float64) for each in texts)
        yield Group(given["matter"], is_cjk(given["matter"]), (sides[0], sides[1], sides[2]))


def fit_projection(groups: Sequence[Group]) -> tuple[Floats, Floats]:
    """Return the projection and the mean, by gradient descent from the principal components (Adam)."""
    everything = np.vstack([side for group in groups for side in group.sides])
    mean = everything.mean(axis=0)
    start = np.linalg.svd(everything - mean, full_matrices=False)[2][:WIDTH].T
    projection, first, second = start.copy(), np.zeros_like(start), np.zeros_like(start)
    random, step = np.random.default_rng(0), 0
    for _ in range(EPOCHS):
        for page in draw_pages(groups, random):
            drawn = [np.array([random.choice(group.sides[side]) for group in page]) - mean for side in range(3)]
            slope = compute_slope(drawn, projection) + 2 * SHRINK * (projection - start)
            step += 1
            first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
            size = np.sqrt(second / (1 - 0.999**step)) + 1e-8
            projection = projection - RATE * (first / (1 - 0.9**step)) / size
    return projection, mean


def draw_pages(groups: Sequence[Group], random: np.random.Generator) -> Iterator[list[Group]]:
    """Yield pages of groups of one language."""
    for is_chinese in (False, True):
        own = [group for group in groups if group.is_chinese == is_chinese]
        order = random.permutation(len(own))
        for begin in range(0, len(order), PAGE):
            yield [own[place] for place in order[begin : begin + PAGE]]


def compute_slope(drawn: Sequence[Floats], projection: Floats) -> Floats:
    """Return the gradient of the cross-entropy of finding each sentence's group among the others, both ways."""
    projected = [side @ projection for side in drawn]
    unit = [scale_to_unit(side) for side in projected]
    slopes = [np.zeros_like(side) for side in unit]
    for one, other in PAIRS:
        similar = SHARPNESS * unit[one] @ unit[other].T
        wrong = (softmax(similar) + softmax(similar.T).T - 2 * np.eye(len(similar))) * SHARPNESS / len(similar)
        slopes[one] += wrong @ unit[other]
        slopes[other] += wrong.T @ unit[one]
    total = np.zeros_like(projection)
    for side, made, near, slope in zip(drawn, projected, unit, slopes, strict=True):
        across = slope - (slope * near).sum(axis=1, keepdims=True) * near
        total += side.T @ (across / np.maximum(np.linalg.norm(made, axis=1, keepdims=True), 1e-9))
    return total


def softmax(totals: Floats) -> Floats:
    powers = np.exp(totals - totals.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def measure(groups: Sequence[Group], projection: Floats, mean: Floats) -> list[float]:
    """Return AUC and the share nearer than `FAR`, of questions to statements and of statements to changes."""
    sides = [[scale_to_unit((group.sides[side] - mean) @ projection) for group in groups] for side in range(3)]
    told = [np.vstack(pair) for pair in zip(sides[1], sides[2], strict=True)]
    return [*rate(sides[0], told), *rate(sides[1], sides[2])]


def rate(asked: Sequence[Floats], told: Sequence[Floats]) -> tuple[float, float]:
    everything, owner = np.vstack(told), np.repeat(np.arange(len(told)), [len(each) for each in told])
    places = []
    for group, side in enumerate(asked):
        similar = side @ everything.T
        for row in similar:
            others = np.sort(row[owner != group])
            places.append(np.searchsorted(others, row[owner == group]) / len(others))
    ranks = np.concatenate(places)
    return float(ranks.mean()), float((ranks >= FAR).mean())


if __name__ == "__main__":
    typer.run(fit)
