"""Answers: what to say from memory alone. Lists in, a text and its sources out; nothing awaited.

Nothing is worded that was not said: facts as they are known, turns as they stand, each with its ref. What speaks to the
question is decided by its words, each weighed by how rare it is; if nothing does, the answer says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from recollect.hosts.chat.phrases import Phrases
from recollect.model.asked import asked_keys, is_everything
from recollect.model.chat import Message, Said, asks, only_asks, was_recited
from recollect.model.conversation import Turn
from recollect.model.excerpt import excerpt
from recollect.model.explanation import Explanation
from recollect.model.extract import extract
from recollect.model.fact import SINGLE_KEYS
from recollect.model.known import EpisodeHit, MemoryHit
from recollect.model.memory import Memory, kind_and_key
from recollect.model.question import surfaces
from recollect.model.rulebook import Rulebook
from recollect.model.search import Context, Hit, Recall
from recollect.model.text import lexemes
from recollect.model.words import ASKS_BEFORE, ASKS_WHEN
from recollect.rules import rulebooks

LEAST_SHARE = 0.48  # of the worth of a question's words, that a turn must have
LEAST_EPISODE = 0.4
LEAST_FACT = 0.4  # score from which a memory answers, where its key is not asked for
MOST_FACTS = 5
MOST_QUOTES = 3
MOST_TALKED = 6  # where the question is what was talked about
QUOTE_CHARS = 300
EPISODE_CHARS = 400
MOST_PROFILE = 30
FORGOTTEN = "asked to forget it"
FRAME = re.compile(rf"{ASKS_BEFORE.pattern}|{ASKS_WHEN.pattern}|多少|怎么|如何|说过?|告诉|讲过?", re.IGNORECASE)
TALKED = re.compile(
    r"\b(?:discuss\w*|talk(?:ed|ing)? (?:about|of)|chat(?:ted)? about|sp[eo]a?ke? about"
    r"|conversations? (?:about|on)|go over|went over|summar\w+|recap|ask(?:ed)? (?:you )?about)\b"
    r"|聊|讨论|谈|总结|概括|回顾|问过",
    re.IGNORECASE,
)


def from_memory(
    message: Message,
    context: Context,
    words: Phrases,
    books: Sequence[Rulebook],
    ended: Sequence[Memory] = (),
) -> Said:
    """The answer to a question: what is known, then what was said. `ended` is what was so before, where the key that
    is asked for has no value any more."""
    recall = context.recall
    facts = telling_facts(recall.memories, unanswered(recall, books))
    talked = TALKED.search(message.text) is not None
    is_settled = not talked and any(hit.is_asked and hit.memory.key in SINGLE_KEYS for hit in facts)
    before = [MemoryHit(memory, "user", 0.0, is_asked=True) for memory in ended[:1]]
    covered = {ref for memory in [*(hit.memory for hit in facts), *ended] for ref in memory.refs}
    quotes = [] if is_settled else telling_turns(recall, covered, talked, books)
    episodes = [hit for hit in recall.episodes if talked and is_about(hit)][:1]
    lines = [
        *(words.no_longer.format(key=words.key(hit.memory.key), fact=fact_line(hit, words)) for hit in before),
        *(fact_line(hit, words) for hit in facts),
        *(episode_line(hit, words) for hit in episodes),
        *(turn_line(hit.turn, recall, words, books) for hit in quotes),
    ]
    if not lines:
        return Said(words.unknown)
    found: list[MemoryHit | EpisodeHit | Hit] = [*before, *facts, *episodes, *quotes]
    return Said("\n".join(lines), tuple(hit.source for hit in found))


def unanswered(recall: Recall, books: Sequence[Rulebook]) -> list[str]:
    """The keys of one value that are asked for, where nothing is known under any key that is."""
    if any(hit.is_asked for hit in recall.memories):
        return []
    return [key for key in asked_keys(recall.query.text, books) if key in SINGLE_KEYS]


def telling_facts(hits: Iterable[MemoryHit], missing: Sequence[str] = ()) -> list[MemoryHit]:
    """Those asked for; without any, those that share enough of the question's words. Where the key asked for is
    `missing`, another key of its like is no answer."""
    telling = [hit for hit in hits if hit.is_asked or hit.score >= LEAST_FACT]
    asked = [hit for hit in telling if hit.is_asked]
    beside = [hit for hit in telling if not missing or hit.memory.key not in SINGLE_KEYS]
    return (asked or beside)[:MOST_FACTS]


def telling_turns(recall: Recall, covered: set[str], talked: bool, books: Sequence[Rulebook]) -> list[Hit]:
    """The turns that speak to the question. What was talked about is told in its order, questions included; otherwise
    what also asks is quoted only where nothing else is there, and what only asks never: it is no answer."""
    hits = [hit for hit in told(recall, books) if hit.source not in covered]
    if talked:
        return sorted(hits[:MOST_TALKED], key=lambda hit: (hit.turn.at is None, hit.turn.at, hit.turn.index))
    stated = [hit for hit in hits if not asks(hit.text, books)]
    return (stated or [hit for hit in hits if not only_asks(hit.text, books)])[:MOST_QUOTES]


def told(recall: Recall, books: Sequence[Rulebook]) -> list[Hit]:
    """The turns that say something about it: neither our own recitals, nor what only says that it be forgotten."""
    worth = worths(recall)
    telling = [hit for hit in recall.hits if is_telling(hit, worth) and not was_recited(hit.turn)]
    return [hit for hit in telling if not forgets(hit.turn, books)]


def forgets(turn: Turn, books: Sequence[Rulebook]) -> bool:
    """Few turns have a word of such a command; only those are read by the rules."""
    lowered = turn.text.lower()
    words = (word for book in books for order in book.orders if order.verb == "forget" for word in order.words)
    if not any(word in lowered for word in words):
        return False
    return any(command.verb == "forget" for command in extract(turn.text, turn.role, books).commands)


def is_about(hit: EpisodeHit) -> bool:
    return bool(hit.words) or (hit.cosine or 0.0) >= LEAST_EPISODE


def is_telling(hit: Hit, worth: Mapping[str, float]) -> bool:
    """By its words, as said or as misspelt. Nearness in meaning finds turns for a reader, but proves nothing."""
    return "trigram" in hit.arms or shared_worth(hit.words, worth) >= LEAST_SHARE


def shared_worth(words: Sequence[str], worth: Mapping[str, float]) -> float:
    """Of all that the question's words are worth, the part that a turn has."""
    return sum(worth.get(word, 0.0) for word in words) / (sum(worth.values()) or 1.0)


def worths(recall: Recall) -> dict[str, float]:
    """What each word of the question is worth. Words that only frame it do not count."""
    spelt = surfaces(recall.query.text)
    own = lexemes(FRAME.sub(" ", recall.query.text)) or recall.terms
    return {spelt.get(lexeme, lexeme): value for lexeme, value in recall.terms.items() if lexeme in own}


def fact_line(hit: MemoryHit, words: Phrases) -> str:
    memory = hit.memory
    beside = [words.told_on.format(date=words.date(memory.valid_from), ref=source_of(memory))]
    if hit.tier == "project":
        beside = [f"{words.of_project} [{memory.ref}]"]
    if memory.valid_to:
        beside.append(words.until.format(date=words.date(memory.valid_to)))
    return f"{stated(memory, words)} ({'; '.join(beside)})"


def stated(memory: Memory, words: Phrases) -> str:
    if words.is_verbatim(memory):
        return f"“{words.brief(memory)}”"
    single = memory.key in SINGLE_KEYS and memory.valid_to is None
    return (words.yours if single else words.known).format(key=words.key(memory.key), value=memory.value)


def source_of(memory: Memory) -> str:
    """The turn it was said in; of what somebody taught outright, the memory itself."""
    said = [ref for ref in memory.refs if not ref.startswith("@")]
    return said[0] if said else memory.ref


def turn_line(turn: Turn, recall: Recall, words: Phrases, books: Sequence[Rulebook]) -> str:
    text = " ".join(turn.text.split())
    text = text if len(text) <= QUOTE_CHARS else excerpt(text, QUOTE_CHARS, recall.terms)
    return said_by(turn, words, books).format(date=words.date(turn.at), text=text, ref=turn.ref, who=turn.speaker)


def said_by(turn: Turn, words: Phrases, books: Sequence[Rulebook]) -> str:
    if turn.speaker:
        return words.another_said
    if turn.role != "user":
        return words.i_said
    return words.you_asked if only_asks(turn.text, books) else words.you_said


def episode_line(hit: EpisodeHit, words: Phrases) -> str:
    text = hit.text if len(hit.text) <= EPISODE_CHARS else hit.text[: EPISODE_CHARS - 1].rstrip() + "…"
    return words.in_short.format(date=words.date(hit.episode.said_from), text=text, ref=hit.source)


def profile(memories: Sequence[Memory], words: Phrases) -> Said:
    """Everything that is known of the user, the important first."""
    if not memories:
        return Said(words.profile_empty)
    shown = memories[:MOST_PROFILE]
    lines = [f"- {words.brief(m)} ({words.date(m.valid_from)}) [{source_of(m)}]" for m in shown]
    return Said("\n".join([words.profile, *lines]), tuple(memory.ref for memory in shown))


def confirmed(message: Message, turn: Turn, known: Sequence[Memory], words: Phrases) -> Said:
    """What a message taught or took back, judged by what is known now. `known` has ended memories too. What was
    forgotten is called by its key: the reply would remember it otherwise."""
    learned = [m for m in known if m.status in ("active", "pending") and turn.ref in m.refs]
    taken = [m for m in known if m.status == "retracted" and m.reason == FORGOTTEN and m.valid_to == turn.at]
    lines = [learned_line(memory, known, turn, words) for memory in learned]
    lines += [words.forgotten.format(key=words.key(memory.key)) for memory in taken]
    orders = [command.text for command in message.read.commands if command.verb == "forget"]
    if any(is_everything(text, rulebooks()) for text in orders):
        lines.append(words.not_everything)
    elif orders:
        lines.append(words.log_stays if taken else words.nothing_to_forget)
    unchanged = [m for m in known if m.status == "active" and m not in learned and is_contested(m, message)]
    lines += [words.stays.format(fact=words.brief(m), ref=source_of(m)) for m in unchanged]
    return Said("\n".join(lines) or words.kept, tuple(memory.ref for memory in [*learned, *unchanged]))


def learned_line(memory: Memory, known: Sequence[Memory], turn: Turn, words: Phrases) -> str:
    old = next((m for m in known if m.replaced_by == memory.id and m.valid_to == turn.at), None)
    if old is None:
        return words.noted.format(fact=words.brief(memory), ref=turn.ref)
    return words.corrected.format(fact=words.brief(memory), ref=turn.ref, old=old.value)


def is_contested(memory: Memory, message: Message) -> bool:
    """The message gave its key another value, and it stands all the same."""
    keys = {kind_and_key(fact)[1] for fact in message.read.facts}
    return memory.key in keys and memory.key in SINGLE_KEYS


def reasons(last: Turn | None, told: Explanation | None, words: Phrases) -> Said:
    """What the last reply rests on: each source as it is today, and why it was chosen."""
    sources = tuple(((last.data or {}).get("memory") or {}).get("sources", ())) if last else ()
    if not sources:
        return Said(words.no_grounds)
    lines = [f"- {reason(source, told, words)}" for source in sources]
    return Said("\n".join([words.because, *lines]), sources)


def reason(source: str, told: Explanation | None, words: Phrases) -> str:
    """Nothing is known of a source but its name, where the request can no longer be explained."""
    if told is None:
        return f"[{source}]"
    for used in told.memories:
        if used.source == source:
            text = words.brief(used.memory) if used.memory else words.gone
            refs = f" [{source_of(used.memory)}]" if used.memory else ""
            return f"{text}{refs}{why(used.why, words)}"
    for hit in told.hits:
        if hit.source == source:
            return f"“{' '.join((hit.text or words.gone).split())[:QUOTE_CHARS]}” [{source}]{why(hit.why, words)}"
    return f"[{source}]"


def why(reason: str, words: Phrases) -> str:
    """Why it was chosen, which memory says in English."""
    return "" if words.is_chinese else f" ({reason})"
