"""Check the complexity of recollect/: the mean, and the number of functions that are hard to follow.

`make check` runs this. Complexity is cyclomatic complexity as radon counts it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from radon.complexity import cc_visit

PACKAGE = Path(__file__).parents[1] / "recollect"
# Inlining short functions raises the mean (aim: 3.0): prefer fewer hard ones.
HIGHEST_MEAN = 4.02
HARD = 11  # complexity from which a function counts as hard to follow
MOST_HARD = 53


def measure_functions() -> Iterator[tuple[int, str]]:
    """Yield the complexity and the place of each function and method."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for block in cc_visit(path.read_text(encoding="utf-8")):
            if block.letter != "C":  # a class repeats its methods, which are listed on their own
                yield block.complexity, f"{path.relative_to(PACKAGE.parent)}:{block.lineno} {block.name}"


def main() -> int:
    """Print the figures; return 1 if one of them is above its limit."""
    measured = list(measure_functions())
    mean = sum(complexity for complexity, _ in measured) / len(measured)
    hard = sorted((each for each in measured if each[0] >= HARD), reverse=True)
    sys.stdout.write(f"{len(measured)} functions, mean complexity {mean:.2f}, {len(hard)} of {HARD} or more\n")
    if mean <= HIGHEST_MEAN and len(hard) <= MOST_HARD:
        return 0
    sys.stdout.write(f"limits: mean {HIGHEST_MEAN}, at most {MOST_HARD} of {HARD} or more; the most complex:\n")
    sys.stdout.writelines(f"  {complexity:3} {place}\n" for complexity, place in hard[:20])
    return 1


if __name__ == "__main__":
    sys.exit(main())
