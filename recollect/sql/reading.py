"""Reading: a question to a database, understood or asked back. `read_question` is what hosts call; it promises that
everything in the question was accounted for: each word is part of the frame, a function word, or told as unknown, and
with one unknown or vague word there is no frame. It never raises, whatever the text.

The way: chinese -> lexer -> spans -> roles -> assemble (or edit, for a follow-up) -> habits -> checks.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date

from recollect.sql.ages import told_by_dates
from recollect.sql.assemble import assemble
from recollect.sql.catalog import Catalog
from recollect.sql.chinese import in_english
from recollect.sql.context import Context, Refused, Unclear
from recollect.sql.edit import edited
from recollect.sql.fragments import Fragment, fragment_of, is_cut_off, of_filtered, with_plain_nouns
from recollect.sql.frame import Frame
from recollect.sql.grounds import doubts, is_bare
from recollect.sql.habits import with_habits
from recollect.sql.idle_nouns import described
from recollect.sql.joins import graph_of
from recollect.sql.known import FoundValue, Known, Target
from recollect.sql.lexer import root_of, stem_key, tokens_of
from recollect.sql.lexicon import lexicon_of, with_known
from recollect.sql.linking import strange
from recollect.sql.naming import words_of
from recollect.sql.phrases import phrases
from recollect.sql.roles import sketch_of
from recollect.sql.semantic import SemanticModel
from recollect.sql.shares import refusal, reparted, unparted
from recollect.sql.sketch import Sketch
from recollect.sql.spans import Piece, pieces_of
from recollect.sql.unclear import Clarification, about_unknown, about_vague, lookups_of
from recollect.sql.vocabulary import vocabulary

STATES = ("paid", "shipped", "delivered", "returned", "dispatched", "sent", "opened", "closed", "billed", "charged")
TOO_MANY = 2
NOTHING = Known()


@dataclass(frozen=True, slots=True)
class Assumption:
    term: str
    meaning: str
    source: str
    confidence: float


@dataclass(frozen=True, slots=True)
class Reading:
    """Without a frame there is a clarification, or `refused` says why not. `lookups` are phrases that may be values of
    columns that the catalog does not show whole: look them up and read again."""

    frame: Frame | None = None
    clarifications: tuple[Clarification, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    unknown: tuple[str, ...] = ()
    lookups: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    is_followup: bool = False
    refused: str | None = None


def read_question(
    question: str,
    model: SemanticModel,
    catalog: Catalog,
    *,
    known: Known = NOTHING,
    values: Iterable[FoundValue] = (),
    last: Frame | None = None,
    unanswered: str = "",
    today: date,
) -> Reading:
    """`last` is the frame of the question before; `unanswered` is that question, if it was asked back instead: what
    goes on from it is never applied to an older one."""
    lexicon = with_known(lexicon_of(model, catalog), known, values)
    text = in_english(told_by_dates(question, model, lexicon, today), lexicon)
    pieces = described(pieces_of(tokens_of(text), lexicon, today), lexicon)
    named = frozenset(t.table for piece in pieces for t in piece.of("entity")) | stocks(model, pieces)
    words = frozenset(root_of(word) for piece in pieces for word in piece.text.split())
    context = Context(model, catalog, lexicon, graph_of(model, catalog), known, today, named, words)
    verbs = {word.value for piece in pieces for word in piece.words if word.kind == "verb" and not piece.of("entity")}
    context = replace(context, acts=frozenset(table for verb in verbs for table in context.events(verb)))
    for piece in pieces:
        if piece.is_typo:
            context.assume(piece.text, piece.names[0].name, "spelling", 0.8)
    shown, last = last, unparted(last) if last else None
    labels = entity_labels(context, last.subject) if last else ()
    fragment = fragment_of(with_plain_nouns(of_filtered(pieces, last, lexicon), last, labels), last)
    if shown is not None and last is not None and fragment is not None:
        return read_fragment(context, fragment, last, shown)
    if last is not None and (doubt := of_all_or_those(context, pieces, last)):
        return Reading(clarifications=(doubt,), is_followup=True)
    if last is None and unanswered and (fragment is not None or is_bare(pieces)):
        return Reading(clarifications=(after_which(question, unanswered),), is_followup=True)
    return read_whole(context, pieces, last)


def stocks(model: SemanticModel, pieces: list[Piece]) -> frozenset[str]:
    """ "In stock" speaks of the table that is called so."""
    said = {t.table for piece in pieces for t in piece.of("definition") if piece.text.lower().endswith(" stock")}
    kept = vocabulary().words("money", "stock_tables")
    return frozenset(e.table for e in model.entities if e.table in said and e.names[0] in kept)


def after_which(question: str, unanswered: str) -> Clarification:
    """A piece of a question, behind one that has no answer yet."""
    asked = f"“{unanswered}” has no answer yet. Please ask the whole question."
    return Clarification(question, asked, (f"{unanswered.rstrip(' ?.!')} {question}",), "entity")


def of_all_or_those(context: Context, pieces: list[Piece], last: Frame) -> Clarification | None:
    """A bare "how many tracks?" after a question about one artist: of that artist, or of all? So is "the average
    salary?" after one about a department."""
    said = [piece for piece in pieces if piece.text.lower() != "the"]
    is_count = len(said) == 2 and said[0].has("howmany") and bool(said[1].of("entity"))
    if the_others := of_their_own(context, pieces, last):
        return the_others
    named = said[1].of("entity") if is_count else bare_measure(pieces, last)
    if not named or not (last.filters or last.periods) or not (is_count or last.subject == named[0].table):
        return None
    if is_count and not context.cost(last.subject, named[0].table):
        return None
    text = " ".join(piece.text for piece in said)
    wanted = (f"{text} are there in all", f"{text} of those") if is_count else (f"{text} of all", f"{text} of those")
    return Clarification(said[-1].text, f"“{text}” of all, or of those that were asked about before?", wanted, "entity")


def of_their_own(context: Context, pieces: list[Piece], last: Frame) -> Clarification | None:
    """ "Who are the patients?" after some invoices: those of these invoices, or all there are?"""
    entities = pieces[-1].of("entity") if pieces else ()
    leads = [piece.text.lower() for piece in pieces[:-1]]
    is_bare = leads[-1:] == ["the"] and all(p.has("which", "list") or p.is_skip for p in pieces[:-1])
    is_some = last.filters or last.periods or last.having or last.existence or last.limit
    if not entities or not is_bare or not is_some or (context.cost(last.subject, entities[0].table) or (1, 9))[0]:
        return None
    name = pieces[-1].text
    question = f"All {name}, or those of which was asked before?"
    return Clarification(name, question, (f"all {name}", f"add the {entities[0].name}"), "entity")


def bare_measure(pieces: list[Piece], last: Frame) -> tuple[Target, ...]:
    """An aggregate and what it is of, and nothing else."""
    said = [piece for piece in pieces if not piece.is_skip and not (piece.has("which", "list") and not piece.names)]
    is_bare = len(said) == 2 and said[0].has("agg") and not said[0].names
    return tuple(t for t in said[1].of("measure") if t.table == last.subject) if is_bare else ()


def read_whole(context: Context, pieces: list[Piece], last: Frame | None) -> Reading:
    sketch = sketch_of(pieces)
    try:
        if is_cut_off(sketch):
            raise Unclear(
                "", "This looks like a piece of a question. What should be counted or listed?", category="entity"
            )
        frame = with_habits(context, assemble(context, sketch), sketch)
    except Unclear as unclear:
        return asked_back(context, sketch, unclear)
    except Refused as refused:
        return asked_back(context, sketch, None) if sketch.unknown or sketch.vague else Reading(refused=str(refused))
    return checked(context, sketch, Reading(frame), last)


def read_fragment(context: Context, fragment: Fragment, last: Frame, shown: Frame) -> Reading:
    """`shown` is the last frame as it was answered: a share stays one, unless a figure is asked for."""
    sketch = fragment.sketch
    if sketch.refused or sketch.is_share:
        return Reading(is_followup=True, refused=refusal(sketch.refused))
    try:
        change = edited(context, fragment, last)
        is_same = not any(piece.has("howmany", "howmuch", "agg", "list", "which") for piece in sketch.pieces)
        frame = reparted(change.frame, shown) if is_same else change.frame
    except Unclear as unclear:
        return replace(asked_back(context, sketch, unclear), is_followup=True)
    except Refused as refused:
        return Reading(is_followup=True, refused=str(refused))
    reading = Reading(frame, kept=change.kept, changed=change.changed, is_followup=True)
    return checked(context, sketch, reading, last)


def asked_back(context: Context, sketch: Sketch, unclear: Unclear | None) -> Reading:
    """What stood in the way; words that nobody knows come first, they are the likelier reason."""
    reading = checked(context, sketch, Reading())
    if reading.refused or reading.clarifications or unclear is None:
        return reading
    asked = Clarification(unclear.term, unclear.question, unclear.suggestions, unclear.category)
    return replace(reading, clarifications=(asked,))


def checked(context: Context, sketch: Sketch, reading: Reading, last: Frame | None = None) -> Reading:
    """The same reading, or one without a frame that names what was not understood."""
    assumptions = tuple(Assumption(*each) for each in context.assumed)
    if sketch.refused:
        return replace(reading, frame=None, refused=refusal(sketch.refused))
    verbs = [(t, v) for t, v in sketch.loose if not is_on_its_way(sketch, v) and not is_kept_as(v, reading.frame)]
    loose = [t for t, verb in verbs if not is_about(context, verb, reading.frame)]
    states = [t for t, _ in verbs if t.lower() in STATES]
    states = states if is_of_event(context, reading.frame) else []
    context.used.update(roots_of(reading.frame))
    said = [*sketch.unknown, *loose, *states, *strange(context, sketch, reading.frame)]
    unknown = tuple(
        word for word in dict.fromkeys(said) if not is_explained(context, word) and not is_kind(context, sketch, word)
    )
    if not unknown:  # a verb that a join explains must not cover what is left beside it
        unknown = tuple(word for word in sketch.dangling if not is_explained(context, word))
    if reading.frame is not None and (guessed := guesses(sketch)):
        return replace(reading, frame=None, clarifications=guessed, unknown=tuple(each.term for each in guessed))
    asked = (*about_vague(context, sketch.vague), *about_unknown(context, unknown))
    if asked:
        return replace(reading, frame=None, clarifications=asked, unknown=unknown, lookups=lookups_of(sketch, unknown))
    if reading.frame is not None and (weak := doubts(context, sketch, reading.frame, last, reading.is_followup)):
        return replace(reading, frame=None, clarifications=weak, assumptions=assumptions)
    return replace(reading, assumptions=assumptions)


def is_about(context: Context, verb: str, frame: Frame | None) -> bool:
    """Whether the verb means something here: an event or a date of this source, or the figure that is shown."""
    if context.events(verb) or context.moment_of(verb, (m.table for m in context.model.moments)):
        return True
    nouns = phrases().events.get(verb, ())
    if any(stem_key(name) in nouns for d in context.model.dimensions for name in d.names):
        return True
    concept = {"cost": "price"}.get(verb, verb)
    measures = {(t.table, t.expression) for t in (*context.measures(concept), *context.pay())}
    return frame is not None and any((ref.table, ref.expression) in measures for ref in frame.refs())


def is_kept_as(verb: str, frame: Frame | None) -> bool:
    """ "Paid by card": the payment method says it."""
    columns = [words_of(each.of.column) for each in frame.filters] if frame else []
    nouns = {key[-1] for key in phrases().events.get(verb, ())}
    return any(len(words) > 1 and words[0] in nouns for words in columns)


def is_on_its_way(sketch: Sketch, verb: str) -> bool:
    """ "Sent from Oslo to Rome": the two places say it."""
    return verb == "ship" and {"from", "to"} <= {ask.lead for ask in sketch.values}


def guesses(sketch: Sketch) -> tuple[Clarification, ...]:
    """One word that was guessed is told as an assumption; two are one too many: asked about."""
    typos = [piece for piece in sketch.pieces if piece.is_typo]
    parts = [p for p in sketch.pieces if not p.is_typo and len(p.names) > 1 and all(t.is_partial for t in p.names)]
    if not typos or len(typos) + len(parts) < TOO_MANY:
        return ()
    return tuple(
        Clarification(p.text, f"Is “{p.text}” the {p.names[0].name}?", tuple(t.name for t in p.names[:4]), "unknown")
        for p in (*typos, *parts)
    )


def is_of_event(context: Context, frame: Frame | None) -> bool:
    """How many invoices were paid: of what is counted it says which, so a column must say it."""
    if frame is None or any(metric.of.expression for metric in frame.metrics):
        return False
    is_paid = any(stem_key(name) in phrases().concepts["money"] for name in entity_names(context, frame.subject))
    return not is_paid


def entity_labels(context: Context, table: str) -> tuple[str, ...]:
    entity = context.entity(table)
    return entity.label if entity else ()


def entity_names(context: Context, table: str) -> tuple[str, ...]:
    entity = context.entity(table)
    return entity.names if entity else ()


def roots_of(frame: Frame | None) -> set[str]:
    """What the columns that are filtered by are called: "rated PG" by the rating, "delayed by 40 minutes" by the
    delay."""
    if frame is None:
        return set()
    refs = [*(f.of for f in frame.filters), *(p.of for p in frame.periods), *(h.metric.of for h in frame.having)]
    return {root_of(word) for ref in refs for word in (*words_of(ref.column or ref.expression), *ref.name.split())}


def is_kind(context: Context, sketch: Sketch, word: str) -> bool:
    """ "Business class", "gold status", "gold members": a noun for what the value beside it is, or for who has it."""
    at = next((i for i, piece in enumerate(sketch.pieces) if piece.text == word), None)
    if at is None:
        return False
    beside = [sketch.pieces[i] for i in (at - 1, at + 1) if 0 <= i < len(sketch.pieces)]
    if stem_key(word) in (people := phrases().events["person"]):
        tables = {target.table for piece in beside[:1] for target in piece.values} if at else set()
        return any(stem_key(name) in people for table in tables for name in entity_names(context, table))
    return sketch.pieces[at].has("kind_of") and any(piece.values and not piece.names for piece in beside)


def is_explained(context: Context, word: str) -> bool:
    """A verb that a join is named after: whom "support representative" is used for, supports."""
    roots = [root_of(each) for each in word.split()]
    return bool(roots) and all(root in context.used and not root.isdigit() for root in roots)


__all__ = ["Assumption", "Clarification", "Reading", "read_question"]
