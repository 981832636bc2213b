"""Answers from memory alone, and suggestions for the next message. Pure functions of what was recalled.

Answers quote: facts as they are known, turns as they were said, each with its reference. A turn is quoted only if it
shares enough of the question's words, weighted by rarity. If nothing does, the answer says so.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from recollect.apps.chat.message import ChatReply, Message, has_only_questions, has_question, is_quoted_reply
from recollect.apps.chat.phrases import Phrases
from recollect.learning.asked_keys import find_asked_keys, is_everything
from recollect.learning.extract import extract
from recollect.learning.rulebook import Rulebook
from recollect.learning.rules import rulebooks
from recollect.recall.entities import entities
from recollect.recall.excerpt import excerpt
from recollect.recall.lexemes import lexemes
from recollect.recall.question import surfaces
from recollect.recall.word_lists import ASKS_BEFORE, ASKS_WHEN
from recollect.values.conversation import Turn
from recollect.values.explanation import Explanation
from recollect.values.memory import SINGLE_KEYS, Memory, classify_fact
from recollect.values.query import Context, EpisodeHit, Hit, MemoryHit, Recall

MIN_SHARE = 0.48  # of the weight of the question's words that a turn must share
MIN_EPISODE = 0.4
MIN_FACT = 0.4  # score from which a memory answers if its key was not asked for
MAX_FACTS = 5
MAX_QUOTES = 3
MAX_TOPIC_TURNS = 6  # for a question about a topic
QUOTE_CHARS = 300
EPISODE_CHARS = 400
MAX_PROFILE = 30
FORGOTTEN = "asked to forget it"
ASKING_WORDS = re.compile(rf"{ASKS_BEFORE.pattern}|{ASKS_WHEN.pattern}|多少|怎么|如何|说过?|告诉|讲过?", re.IGNORECASE)
ASKS_TOPIC = re.compile(
    r"\b(?:discuss\w*|talk(?:ed|ing)? (?:about|of)|chat(?:ted)? about|sp[eo]a?ke? about"
    r"|conversations? (?:about|on)|go over|went over|summar\w+|recap|ask(?:ed)? (?:you )?about)\b"
    r"|聊|讨论|谈|总结|概括|回顾|问过",
    re.IGNORECASE,
)


def answer_from_memory(
    message: Message,
    context: Context,
    words: Phrases,
    books: Sequence[Rulebook],
    ended: Sequence[Memory] = (),
) -> ChatReply:
    """Return the answer to a question: known facts, then quoted turns. `ended` are earlier values of the requested key,
    if it has none now."""
    recall = context.recall
    facts = select_facts(recall.memories, find_unanswered_keys(recall, books))
    talked = ASKS_TOPIC.search(message.text) is not None
    is_settled = not talked and any(hit.is_asked and hit.memory.key in SINGLE_KEYS for hit in facts)
    before = [MemoryHit(memory, "user", 0.0, is_asked=True) for memory in ended[:1]]
    covered = {ref for memory in [*(hit.memory for hit in facts), *ended] for ref in memory.refs}
    quotes = [] if is_settled else select_turns(recall, covered, talked, books)
    episodes = [hit for hit in recall.episodes if talked and is_about(hit)][:1]
    lines = [
        *(words.no_longer.format(key=words.key(hit.memory.key), fact=format_fact(hit, words)) for hit in before),
        *(format_fact(hit, words) for hit in facts),
        *(format_episode(hit, words) for hit in episodes),
        *(format_turn(hit.turn, recall, words, books) for hit in quotes),
    ]
    if not lines:
        return ChatReply(words.unknown)
    found: list[MemoryHit | EpisodeHit | Hit] = [*before, *facts, *episodes, *quotes]
    return ChatReply("\n".join(lines), tuple(hit.source for hit in found))


def find_unanswered_keys(recall: Recall, books: Sequence[Rulebook]) -> list[str]:
    """Return the single-value keys that the question asks for, if no requested key has a value."""
    if any(hit.is_asked for hit in recall.memories):
        return []
    return [key for key in find_asked_keys(recall.query.text, books) if key in SINGLE_KEYS]


def select_facts(hits: Iterable[MemoryHit], missing: Sequence[str] = ()) -> list[MemoryHit]:
    """Return the facts under the requested keys; without any, those that share enough of the question's words. If a key
    is `missing`, facts under other single-value keys are no answer."""
    telling = [hit for hit in hits if hit.is_asked or hit.score >= MIN_FACT]
    asked = [hit for hit in telling if hit.is_asked]
    beside = [hit for hit in telling if not missing or hit.memory.key not in SINGLE_KEYS]
    return (asked or beside)[:MAX_FACTS]


def select_turns(recall: Recall, covered: set[str], talked: bool, books: Sequence[Rulebook]) -> list[Hit]:
    """Return the turns to quote. A question about a topic gets them in order, with questions. Otherwise turns that
    contain a question are used only if there are no others, and turns that only ask are never used."""
    hits = [hit for hit in select_relevant_turns(recall, books) if hit.source not in covered]
    if talked:
        return sorted(hits[:MAX_TOPIC_TURNS], key=lambda hit: (hit.turn.at is None, hit.turn.at, hit.turn.index))
    stated = [hit for hit in hits if not has_question(hit.text, books)]
    return (stated or [hit for hit in hits if not has_only_questions(hit.text, books)])[:MAX_QUOTES]


def select_relevant_turns(recall: Recall, books: Sequence[Rulebook]) -> list[Hit]:
    """Return the turns relevant to the question, without our own quotations and commands to forget."""
    worth = weigh_words(recall)
    telling = [hit for hit in recall.hits if is_relevant(hit, worth) and not is_quoted_reply(hit.turn)]
    return [hit for hit in telling if not is_forget_command(hit.turn, books)]


def is_forget_command(turn: Turn, books: Sequence[Rulebook]) -> bool:
    """Whether a turn asks to forget something. The rules run only on turns with a word of such a command."""
    lowered = turn.text.lower()
    words = (word for book in books for order in book.orders if order.verb == "forget" for word in order.words)
    if not any(word in lowered for word in words):
        return False
    return any(command.verb == "forget" for command in extract(turn.text, turn.role, books).commands)


def is_about(hit: EpisodeHit) -> bool:
    return bool(hit.words) or (hit.cosine or 0.0) >= MIN_EPISODE


def is_relevant(hit: Hit, worth: Mapping[str, float]) -> bool:
    """Whether a turn shares enough words with the question, also misspelt ones. Similar meaning alone is not enough to
    quote."""
    return "trigram" in hit.arms or shared_weight(hit.words, worth) >= MIN_SHARE


def shared_weight(words: Sequence[str], worth: Mapping[str, float]) -> float:
    """Return the share of the question's total word weight that these words have."""
    return sum(worth.get(word, 0.0) for word in words) / (sum(worth.values()) or 1.0)


def weigh_words(recall: Recall) -> dict[str, float]:
    """Return the weight of each word of the question, without the words that only ask."""
    spelt = surfaces(recall.query.text)
    own = lexemes(ASKING_WORDS.sub(" ", recall.query.text)) or recall.terms
    return {spelt.get(lexeme, lexeme): value for lexeme, value in recall.terms.items() if lexeme in own}


def format_fact(hit: MemoryHit, words: Phrases) -> str:
    memory = hit.memory
    beside = [words.told_on.format(date=words.date(memory.valid_from), ref=find_source(memory))]
    if hit.tier == "project":
        beside = [f"{words.of_project} [{memory.ref}]"]
    if memory.valid_to:
        beside.append(words.until.format(date=words.date(memory.valid_to)))
    return f"{format_value(memory, words)} ({'; '.join(beside)})"


def format_value(memory: Memory, words: Phrases) -> str:
    if words.is_verbatim(memory):
        return f"“{words.brief(memory)}”"
    single = memory.key in SINGLE_KEYS and memory.valid_to is None
    return (words.yours if single else words.known).format(key=words.key(memory.key), value=memory.value)


def find_source(memory: Memory) -> str:
    """Return the turn a memory was learned from, or the memory itself if it was taught explicitly."""
    said = [ref for ref in memory.refs if not ref.startswith("@")]
    return said[0] if said else memory.ref


def format_turn(turn: Turn, recall: Recall, words: Phrases, books: Sequence[Rulebook]) -> str:
    text = " ".join(turn.text.split())
    text = text if len(text) <= QUOTE_CHARS else excerpt(text, QUOTE_CHARS, recall.terms)
    return choose_template(turn, words, books).format(
        date=words.date(turn.at), text=text, ref=turn.ref, who=turn.speaker
    )


def choose_template(turn: Turn, words: Phrases, books: Sequence[Rulebook]) -> str:
    if turn.speaker:
        return words.another_said
    if turn.role != "user":
        return words.i_said
    return words.you_asked if has_only_questions(turn.text, books) else words.you_said


def format_episode(hit: EpisodeHit, words: Phrases) -> str:
    text = hit.text if len(hit.text) <= EPISODE_CHARS else hit.text[: EPISODE_CHARS - 1].rstrip() + "…"
    return words.in_short.format(date=words.date(hit.episode.said_from), text=text, ref=hit.source)


def answer_profile(memories: Sequence[Memory], words: Phrases) -> ChatReply:
    """List what is known about the user, the most important first."""
    if not memories:
        return ChatReply(words.profile_empty)
    shown = memories[:MAX_PROFILE]
    lines = [f"- {words.brief(m)} ({words.date(m.valid_from)}) [{find_source(m)}]" for m in shown]
    return ChatReply("\n".join([words.profile, *lines]), tuple(memory.ref for memory in shown))


def confirm_changes(message: Message, turn: Turn, known: Sequence[Memory], words: Phrases) -> ChatReply:
    """Return what a message taught or took back, according to the memories as they are now. `known` includes ended
    memories. Forgotten facts are named by their key only, so that the reply does not store them again."""
    learned = [m for m in known if m.status in ("active", "pending") and turn.ref in m.refs]
    taken = [m for m in known if m.status == "retracted" and m.reason == FORGOTTEN and m.valid_to == turn.at]
    lines = [format_learned(memory, known, turn, words) for memory in learned]
    lines += [words.forgotten.format(key=words.key(memory.key)) for memory in taken]
    orders = [command.text for command in message.read.commands if command.verb == "forget"]
    if any(is_everything(text, rulebooks()) for text in orders):
        lines.append(words.not_everything)
    elif orders:
        lines.append(words.log_stays if taken else words.nothing_to_forget)
    unchanged = [m for m in known if m.status == "active" and m not in learned and is_contested(m, message)]
    lines += [words.stays.format(fact=words.brief(m), ref=find_source(m)) for m in unchanged]
    return ChatReply("\n".join(lines) or words.kept, tuple(memory.ref for memory in [*learned, *unchanged]))


def format_learned(memory: Memory, known: Sequence[Memory], turn: Turn, words: Phrases) -> str:
    old = next((m for m in known if m.replaced_by == memory.id and m.valid_to == turn.at), None)
    if old is None:
        return words.noted.format(fact=words.brief(memory), ref=turn.ref)
    return words.corrected.format(fact=words.brief(memory), ref=turn.ref, old=old.value)


def is_contested(memory: Memory, message: Message) -> bool:
    """Whether the message gave another value for the key, and the old one is still active."""
    keys = {classify_fact(fact)[1] for fact in message.read.facts}
    return memory.key in keys and memory.key in SINGLE_KEYS


def explain_reply(last: Turn | None, explanation: Explanation | None, words: Phrases) -> ChatReply:
    """List the sources of the last reply as they are today, and why each was chosen."""
    sources = tuple(((last.data or {}).get("memory") or {}).get("sources", ())) if last else ()
    if not sources:
        return ChatReply(words.no_grounds)
    lines = [f"- {explain_source(source, explanation, words)}" for source in sources]
    return ChatReply("\n".join([words.because, *lines]), sources)


def explain_source(source: str, explanation: Explanation | None, words: Phrases) -> str:
    """Return a source with its text and reason; only its name if the request can no longer be explained."""
    if explanation is None:
        return f"[{source}]"
    for used in explanation.memories:
        if used.source == source:
            text = words.brief(used.memory) if used.memory else words.gone
            refs = f" [{find_source(used.memory)}]" if used.memory else ""
            return f"{text}{refs}{format_reason(used.why, words)}"
    for hit in explanation.hits:
        if hit.source == source:
            text = " ".join((hit.text or words.gone).split())[:QUOTE_CHARS]
            return f"“{text}” [{source}]{format_reason(hit.why, words)}"
    return f"[{source}]"


def format_reason(reason: str, words: Phrases) -> str:
    """Return why a source was chosen. Reasons exist in English only."""
    return "" if words.is_chinese else f" ({reason})"


def make_suggestions(
    context: Context, words: Phrases, most: int, books: Sequence[Rulebook], ended: Collection[str] = ()
) -> tuple[str, ...]:
    """Return open tasks, then questions about names in the recalled turns; none that the question already has or that
    is `ended`."""
    asked = context.recall.query.text.casefold()
    found = (text for name, text in list_candidates(context, words, books, ended) if name.casefold() not in asked)
    return tuple(dict.fromkeys(found))[:most]


def list_candidates(
    context: Context, words: Phrases, books: Sequence[Rulebook], ended: Collection[str]
) -> Iterator[tuple[str, str]]:
    recall = context.recall
    todos = [hit.memory for hit in recall.memories if hit.memory.kind == "todo" and hit.source not in ended]
    for name in dict.fromkeys(todo.value for todo in todos if todo.status == "active"):
        yield name, words.suggest_todo.format(name=name.rstrip(".。"))
    texts = [hit.text for hit in select_relevant_turns(recall, books) if not has_question(hit.text, books)]
    for name in entities(texts):
        yield name, words.suggest_entity.format(name=name)
