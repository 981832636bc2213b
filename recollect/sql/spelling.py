"""Spelling: what a word may be that is neither a name nor a function word: another form of a name ("refunded" for
what is in refunds), a name with a typing error, or one that a table writes without vowels. Called by spans.py;
whatever is guessed is told as an assumption.
"""

from __future__ import annotations

from recollect.sql.known import Target
from recollect.sql.lexer import root_of, stem_key
from recollect.sql.lexicon import Lexicon

SHORTEST_TYPO = 5
TWO_TYPOS = 9
VOWELS = "aeiou"
ENDINGS = ("ed", "er", "ers", "ing", "ly", "or", "ors", "able", "al")


def deed(text: str, lexicon: Lexicon) -> tuple[Target, ...]:
    """ "Refunded", where refunds are kept: what was done is one of them."""
    low = text.lower()
    if not low.isascii() or not low.isalpha():
        return ()
    keys = [key for key in lexicon.letters.get(low[0], ()) if root_of(key[0]) == root_of(low)]
    states = [target for key in keys for target in lexicon.name(key) if target.kind == "definition"]
    if states and len({t.table for t in states}) == len(states):  # "payments that fail", where they are failed or not
        return tuple(states)
    moments = [target for key in keys for target in lexicon.name(key) if target.kind == "moment"]
    if moments and low.endswith(("ing", "ed", "e", "es")):  # "cards expiring in 2025"
        return tuple(dict.fromkeys(moments))
    if not low.endswith("ed"):
        return ()
    keys += [key for key in lexicon.names if len(key) == 2 and root_of(key[0]) == root_of(low)]  # watch sessions
    found = [
        target for key in keys for target in lexicon.name(key) if target.kind == "entity" and not target.is_partial
    ]
    return tuple(dict.fromkeys(found)) if len({t.table for t in found}) == 1 else ()


def respelt(text: str, lexicon: Lexicon) -> tuple[Target, ...]:
    """The one name that is one letter away; none, if there are two."""
    stem = stem_key(text)
    if len(stem) != 1 or len(stem[0]) < SHORTEST_TYPO:
        return ()
    near = [
        key for key in lexicon.letters.get(stem[0][0], ()) if is_near(stem[0], key[0]) and not is_form(stem[0], key[0])
    ]
    near = [key for key in near if not all(target.is_partial for target in lexicon.name(key))]
    near = near or [
        key
        for key in lexicon.letters.get(stem[0][0], ())
        if is_short_for(key[0], stem[0]) and is_entity(lexicon.name(key))
    ]
    return lexicon.name(near[0]) if len(near) == 1 else ()


def is_entity(targets: tuple[Target, ...]) -> bool:
    return any(target.kind == "entity" for target in targets)


def is_short_for(name: str, word: str) -> bool:
    """A name without vowels, as tables have them: "flt" for a flight, "bkg" for a booking."""
    if not 3 <= len(name) <= len(word) - 2 or sum(letter in VOWELS for letter in name[1:]) > 1 or not name.isascii():
        return False
    letters = iter(word)
    return all(letter in letters for letter in name) and name[-1] in word[-3:]


def is_form(word: str, name: str) -> bool:
    """ "Rated" is another form of a rate, and means something else."""
    base = name.rstrip("e")
    return word.startswith(base) and word[len(base) :] in ENDINGS


def is_near(one: str, other: str) -> bool:
    most = 2 if min(len(one), len(other)) >= TWO_TYPOS else 1
    if abs(len(one) - len(other)) > most or len(other) < SHORTEST_TYPO - 1:
        return False
    return distance(one, other) <= most


def distance(one: str, other: str) -> int:
    """Letters to change, add, drop or swap."""
    rows = [list(range(len(other) + 1))]
    for i, a in enumerate(one, 1):
        row = [i]
        for j, b in enumerate(other, 1):
            best = min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                best = min(best, rows[-2][j - 2] + 1)
            row.append(best)
        rows.append(row)
    return rows[-1][-1]
