"""Matters: a space of text vectors in which questions and statements of one matter ("what do I do for work?", "I'm a
dental nurse at a practice") are nearer to each other than by their words alone. A linear projection of the local
embedder's vectors, fitted on groups of sentences of the same matter (bench/fit_matters.py). Pure."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

EMBEDDER = "wordllama-l2-supercat-256"  # whose vectors the projection was fitted on
WEIGHTS = "matters.npz"  # `projection`, in whole numbers of its `scale`, and the `mean` of all vectors
NEAREST_TO_ZERO = 1e-9


@cache
def load_projection() -> tuple[Floats, Floats]:
    """Return the projection and the mean vector."""
    with (files("recollect.learning") / WEIGHTS).open("rb") as file, np.load(file) as stored:
        return stored["projection"] * float(stored["scale"]), stored["mean"].astype(np.float64)


def project(vectors: NDArray[Any]) -> Floats:
    """Return text vectors in the space of matters, at unit length."""
    projection, mean = load_projection()
    return scale_to_unit((vectors - mean) @ projection)


def scale_to_unit(vectors: Floats) -> Floats:
    unit: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), NEAREST_TO_ZERO)
    return unit
