"""Answers from memory alone, and suggestions for the next message. Pure functions of what was recalled.

Answers quote: facts as they are known, turns as they were said, each with its reference. A turn is quoted only if it
shares enough of the question's words, weighted by rarity. If nothing does, the answer says so.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from recollect.apps.chat.message import (
    ChatReply,
    Message,
    gate_patterns,
    has_only_questions,
    has_question,
    is_quoted_reply,
    matches_any,
)
from recollect.apps.chat.phrases import Phrases
from recollect.learning.asked_keys import find_asked_keys, is_everything
from recollect.learning.changes import read_statements, split_change
from recollect.learning.extract import extract
from recollect.learning.reconcile import ENDED_IN
from recollect.learning.rulebook import Rulebook
from recollect.learning.rules import rulebooks
from recollect.recall.answer_ranking import Ranked, rank_messages
from recollect.recall.entities import entities
from recollect.recall.excerpt import excerpt
from recollect.recall.lexemes import lexemes
from recollect.recall.question import surfaces
from recollect.recall.word_lists import ASKS_BEFORE, ASKS_PAST, ASKS_SEVERAL, ASKS_WHEN
from recollect.values.audit import Explanation
from recollect.values.conversation import Turn
from recollect.values.memory import SINGLE_KEYS, Memory, classify_fact, is_single
from recollect.values.query import Context, EpisodeHit, Hit, MemoryHit, Outdated, Recall

MIN_SHARE = 0.48  # of the weight of the question's words that a turn must share
MIN_EPISODE = 0.4
MIN_FACT = 0.4  # score from which a memory answers if its key was not asked for
MAX_FACTS = 5
MAX_QUOTES = 3
EARLIER = 3.0  # difference from the best total up to which a changed message is what a question about the past means
REPLACED = 0.15  # probability of a change from which the later message is shown first
MAX_TOPIC_TURNS = 6  # for a question about a topic
QUOTE_CHARS = 300
EPISODE_CHARS = 400
MAX_PROFILE = 30
FORGOTTEN = "asked to forget it"
ASKING_WORDS = re.compile(rf"{ASKS_BEFORE.pattern}|{ASKS_WHEN.pattern}|多少|怎么|如何|说过?|告诉|讲过?", re.IGNORECASE)
ASKS_REPLY = re.compile(
    r"\b(?:did|have|had) you\b|\byou (?:said|told|suggested|recommended)\b|你(?:说|推荐|建议|告诉)", re.IGNORECASE
)
ASKS_TOPIC = re.compile(
    r"\b(?:discuss\w*|talk(?:ed|ing)? (?:about|of)|chat(?:ted)? about|sp[eo]a?ke? about"
    r"|^\W*what (?:of|about)|conversations? (?:about|on)|go over|went over|summar\w+|recap|ask(?:ed)? (?:you )?about)\b"
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
    """Return the answer to a question: the messages that answer it, or the closest ones, or that there are none.
    `ended` are earlier values of the requested key, if it has none now."""
    recall = context.recall
    if ASKS_TOPIC.search(message.text):
        return answer_topic(recall, words, books)
    asks_past = ASKS_PAST.search(message.text) is not None
    if told := select_facts(recall.memories, asks_past):
        return answer_with_facts(told, recall, words)
    if changed := list_changed(recall, asks_past):
        return answer_with_turns(
            [quote for hit in changed for quote in list_current(hit, recall)], recall, words, books
        )
    if ended:
        report = answer_with_turns(find_report(ended[0], recall), recall, words, books)
        return report if report.sources else answer_with_ended(ended[0], recall, words)
    ranked = rank_answers(recall, books, asks_past)
    is_sure = bool(ranked) and ranked[0].is_confident
    reply = answer_with_turns(choose_messages(ranked, recall, asks_past, is_sure), recall, words, books)
    return reply if is_sure or not reply.sources else replace(reply, text=f"{words.unsure}\n{reply.text}")


def answer_with_facts(told: Sequence[MemoryHit], recall: Recall, words: Phrases) -> ChatReply:
    return ChatReply("\n".join(format_fact(hit, recall, words) for hit in told), tuple(hit.source for hit in told))


def answer_with_ended(memory: Memory, recall: Recall, words: Phrases) -> ChatReply:
    """Return an earlier value of a key that has none now."""
    fact = format_fact(MemoryHit(memory, "user", 0.0, is_asked=True), recall, words)
    return ChatReply(words.no_longer.format(key=words.key(memory.key), fact=fact), (memory.ref,))


def answer_with_turns(quotes: Sequence[Quote], recall: Recall, words: Phrases, books: Sequence[Rulebook]) -> ChatReply:
    lines = [format_turn(quote, recall, words, books) for quote in quotes]
    return ChatReply("\n".join(lines) or words.unknown, tuple(dict.fromkeys(quote.hit.source for quote in quotes)))


def rank_answers(recall: Recall, books: Sequence[Rulebook], asks_past: bool) -> list[Ranked]:
    """Return the messages that may answer, best first."""
    ranked = rank_messages(recall, select_statements(recall, books, asks_past))
    return drop_other_values(ranked, recall.memories) if find_unanswered_keys(recall, books) else ranked


def find_report(ended: Memory, recall: Recall) -> list[Quote]:
    """Return the recalled message that ended a memory."""
    ref = (ended.data or {}).get(ENDED_IN, "")
    return [Quote(hit) for hit in recall.hits if hit.source == ref]


def answer_topic(recall: Recall, words: Phrases, books: Sequence[Rulebook]) -> ChatReply:
    """Return what was said about a topic: the summary, then the turns in order."""
    episodes = [hit for hit in recall.episodes if is_about(hit)][:1]
    turns = select_relevant_turns(recall, books)[:MAX_TOPIC_TURNS]
    turns.sort(key=lambda hit: (hit.turn.at is None, hit.turn.at, hit.turn.index))
    lines = [
        *(format_episode(hit, words) for hit in episodes),
        *(format_turn(Quote(hit), recall, words, books) for hit in turns),
    ]
    sources = (*(hit.source for hit in episodes), *(hit.source for hit in turns))
    return ChatReply("\n".join(lines) or words.unknown, sources)


def select_statements(recall: Recall, books: Sequence[Rulebook], asks_past: bool) -> list[Hit]:
    """Return the recalled turns that may answer: those that state something and are not our own quotations. Replies
    of a model count only if the question asks for them, plans and hypotheses only if it has one itself."""
    asks_reply = ASKS_REPLY.search(recall.query.text) is not None
    asks_plan = matches_any(gate_patterns(books, "hypothetical"), recall.query.text)
    return [
        hit
        for hit in recall.hits
        if (hit.turn.role == "user" or asks_reply)
        and not is_quoted_reply(hit.turn)
        and not has_only_questions(hit.text, books)
        and not is_forget_command(hit.turn, books)
        and (hit.turn.role != "user" or asks_plan or states_something(hit.text, asks_past))
    ]


def states_something(text: str, asks_past: bool) -> bool:
    said = read_statements(text)
    return not said or any(each.now or (asks_past and each.is_past) for each in said)


@dataclass(frozen=True, slots=True)
class Quote:
    """A message to show, or the `part` of it that matters: as it is, as one that does not hold any more, or as one in
    `doubt`, because the next may have changed it."""

    hit: Hit
    part: str = ""
    state: Literal["plain", "earlier", "doubt"] = "plain"


def choose_messages(ranked: Sequence[Ranked], recall: Recall, asks_past: bool, is_sure: bool) -> list[Quote]:
    """Return the messages to show: of several answers those as good as the best, otherwise the best; each as what holds
    now, unless the past is asked for. If none is a sure answer, the closest one, if it is close."""
    best = select_best(ranked, is_sure, ASKS_SEVERAL.search(recall.query.text) is not None)
    if asks_past:
        return [Quote(hit) for hit in select_earlier(ranked, best, recall.hits)]
    quotes = [quote for hit in best for quote in list_current(hit, recall) if is_sure or quote.state == "plain"]
    return list({(quote.hit.source, quote.part): quote for quote in quotes}.values())[:MAX_QUOTES]


def select_best(ranked: Sequence[Ranked], is_sure: bool, asks_several: bool) -> list[Hit]:
    if not is_sure:
        return [each.hit for each in ranked[:1] if each.is_close]
    return [each.hit for each in ranked if each.is_as_good(ranked[0])][: MAX_QUOTES if asks_several else 1]


def list_current(hit: Hit, recall: Recall) -> list[Quote]:
    """Return what holds now of what a message says: the last of the messages that changed it, one after the other, and
    then the message itself unless the change is sure."""
    chain = follow_changes(hit, recall)
    last, is_sure = (chain[-1][0] if chain else hit), all(part.is_sure for _, part in chain)
    if chain and chain[0][1].probability < REPLACED:
        return [Quote(hit, state="doubt"), Quote(chain[0][0])]
    changed = chain[-1][1] if chain else find_changed_by(hit, recall.hits)
    before, after = split_change(last.turn.text, changed.statement if changed else "")
    quotes = [Quote(last, after), *([Quote(last, before, "earlier")] if before and not changed else [])]
    return quotes if is_sure else [*quotes, Quote(hit, state="earlier")]


def follow_changes(hit: Hit, recall: Recall) -> list[tuple[Hit, Outdated]]:
    """Return the messages that changed one another, starting with the one that changed a message, each with what it
    changed; after the first only probable ones."""
    by_source, question = {one.source: one for one in recall.hits}, frozenset(recall.terms)
    chain: list[tuple[Hit, Outdated]] = []
    part = find_changed_part(hit, question)
    while part is not None and part.by in by_source and (not chain or part.probability >= REPLACED):
        chain.append((by_source[part.by], part))
        part = find_changed_part(by_source[part.by], question)
    return chain


def find_changed_by(hit: Hit, hits: Iterable[Hit]) -> Outdated | None:
    """Return the statement that a message most probably changed."""
    changed = [part for one in hits for part in one.outdated if part.by == hit.source]
    return max(changed, key=lambda part: part.probability, default=None)


def select_earlier(ranked: Sequence[Ranked], best: Sequence[Hit], hits: Sequence[Hit]) -> list[Hit]:
    """Return what was so before: the best of the messages that were changed, if it is about as good as the best of all,
    or what the best message changed; or else the best."""
    near = [each.hit for each in ranked if each.total >= ranked[0].total - EARLIER]
    changed = [hit for hit in near if hit.outdated]
    if changed or not best:
        return changed[:1]
    found = find_changed_by(best[0], hits)
    return [hit for hit in hits if found in hit.outdated] or list(best)


def find_changed_part(hit: Hit, question: frozenset[str]) -> Outdated | None:
    """Return the outdated statement of a turn, unless another statement of it is closer to the question."""
    changed = {part.statement: part for part in hit.outdated}
    said = [each.text for each in read_statements(hit.text)] if changed else []
    best = max(said, key=lambda text: (len(question & lexemes(text).keys()), text in changed), default="")
    return changed.get(best)


def find_unanswered_keys(recall: Recall, books: Sequence[Rulebook]) -> list[str]:
    """Return the single-value keys that the question asks for, if no requested key has a value."""
    if any(hit.is_asked for hit in recall.memories):
        return []
    return [key for key in find_asked_keys(recall.query.text, books) if key in SINGLE_KEYS]


def select_facts(hits: Iterable[MemoryHit], asks_past: bool) -> list[MemoryHit]:
    """Return the memories that answer by themselves: values of a requested key that has one value, open tasks, meanings
    of terms, and what was taught without a message. What a later message made outdated is no answer."""
    telling = [hit for hit in hits if is_answer(hit) and (asks_past or not hit.is_outdated)]
    return sorted(telling, key=lambda hit: asks_past and hit.memory.valid_to is None)[:MAX_FACTS]


def list_changed(recall: Recall, asks_past: bool) -> list[Hit]:
    """Return the messages with values of the requested keys that a later message made outdated."""
    changed = [hit for hit in recall.memories if hit.is_outdated and is_answer(hit) and not asks_past]
    refs = {ref for hit in changed for ref in hit.memory.refs[:1]}
    return [hit for hit in recall.hits if hit.source in refs and hit.outdated][:MAX_QUOTES]


def is_answer(hit: MemoryHit) -> bool:
    memory, is_told = hit.memory, is_from_message(hit.memory)
    if is_told:
        return hit.is_asked and (is_single(memory.kind, memory.key) or memory.kind == "todo")
    return hit.is_asked or hit.score >= MIN_FACT


def drop_other_values(ranked: Sequence[Ranked], memories: Iterable[MemoryHit]) -> list[Ranked]:
    """Return the messages without those that gave the value of another key: where a user lives is not where they
    work."""
    others = {ref for hit in memories if hit.memory.key in SINGLE_KEYS for ref in hit.memory.refs}
    return [each for each in ranked if each.hit.source not in others]


def is_from_message(memory: Memory) -> bool:
    return any(not ref.startswith("@") for ref in memory.refs)


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


def format_fact(hit: MemoryHit, recall: Recall, words: Phrases) -> str:
    """Return a value, and the message that says so if it was recalled."""
    memory, ref = hit.memory, find_source(hit.memory)
    said = next((one for one in recall.hits if one.source == ref), None)
    if said is None or words.is_verbatim(memory):
        beside = [words.told_on.format(date=words.date(memory.valid_from), ref=ref)]
    else:
        text = excerpt_turn(said.turn.text, recall)
        beside = [words.you_said.format(date=words.date(memory.valid_from), text=text, ref=ref)]
    if hit.tier == "project":
        beside = [f"{words.of_project} [{memory.ref}]"]
    if memory.valid_to:
        beside.append(words.until.format(date=words.date(memory.valid_to)))
    return f"{format_value(memory, words)} ({'; '.join(beside)})"


def excerpt_turn(text: str, recall: Recall) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= QUOTE_CHARS else excerpt(plain, QUOTE_CHARS, recall.terms)


def format_value(memory: Memory, words: Phrases) -> str:
    if words.is_verbatim(memory):
        return f"“{words.brief(memory)}”"
    return words.known.format(key=words.key(memory.key), value=memory.value)


def find_source(memory: Memory) -> str:
    """Return the turn a memory was learned from, or the memory itself if it was taught explicitly."""
    said = [ref for ref in memory.refs if not ref.startswith("@")]
    return said[0] if said else memory.ref


def format_turn(quote: Quote, recall: Recall, words: Phrases, books: Sequence[Rulebook]) -> str:
    """Return a turn, or the part of it that matters, as a quotation."""
    turn = quote.hit.turn
    template = words.earlier if quote.state == "earlier" else choose_template(turn, words, books)
    text = excerpt_turn(quote.part or turn.text, recall)
    line = template.format(date=words.date(turn.at), text=text, ref=turn.ref, who=turn.speaker)
    return line + words.doubt if quote.state == "doubt" else line


def quote_turn(turn: Turn, words: Phrases, books: Sequence[Rulebook]) -> str:
    text = " ".join(turn.text.split())[:QUOTE_CHARS]
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
    """List what is known about the user, the most important first; questions with their SQL are not about them."""
    shown = [memory for memory in memories if memory.kind not in ("question", "correction")][:MAX_PROFILE]
    if not shown:
        return ChatReply(words.profile_empty)
    lines = [f"- {words.brief(m)} ({words.date(m.valid_from)}) [{find_source(m)}]" for m in shown]
    return ChatReply("\n".join([words.profile, *lines]), tuple(memory.ref for memory in shown))


def confirm_changes(message: Message, turn: Turn, known: Sequence[Memory], words: Phrases) -> ChatReply:
    """Return what a message taught or took back, according to the memories as they are now. `known` includes ended
    memories. Forgotten facts are named by their key only, so that the reply does not store them again."""
    learned = [memory for memory in known if is_learned(memory, turn)]
    taken = [memory for memory in known if is_taken_back(memory, turn)]
    contested = [memory for memory in known if memory not in learned and is_contested(memory, message)]
    lines = [format_learned(memory, known, turn, words) for memory in learned]
    lines += [words.forgotten.format(key=words.key(memory.key)) for memory in taken]
    lines += describe_orders(message, bool(taken), words)
    lines += [words.stays.format(fact=words.brief(memory), ref=find_source(memory)) for memory in contested]
    return ChatReply("\n".join(lines) or words.kept, tuple(memory.ref for memory in [*learned, *contested]))


def is_learned(memory: Memory, turn: Turn) -> bool:
    return memory.status in ("active", "pending") and turn.ref in memory.refs


def is_taken_back(memory: Memory, turn: Turn) -> bool:
    return memory.status == "retracted" and memory.reason == FORGOTTEN and memory.valid_to == turn.at


def describe_orders(message: Message, has_taken: bool, words: Phrases) -> list[str]:
    """Return what became of the commands to forget something."""
    orders = [command.text for command in message.read.commands if command.verb == "forget"]
    if any(is_everything(text, rulebooks()) for text in orders):
        return [words.not_everything]
    return [words.log_stays if has_taken else words.nothing_to_forget] if orders else []


def format_learned(memory: Memory, known: Sequence[Memory], turn: Turn, words: Phrases) -> str:
    old = next((m for m in known if m.replaced_by == memory.id and m.valid_to == turn.at), None)
    if old is None:
        return words.noted.format(fact=words.brief(memory), ref=turn.ref)
    return words.corrected.format(fact=words.brief(memory), ref=turn.ref, old=old.value)


def is_contested(memory: Memory, message: Message) -> bool:
    """Whether the message gave another value for the key, and the old one is still active."""
    keys = {classify_fact(fact)[1] for fact in message.read.facts}
    return memory.status == "active" and memory.key in keys and memory.key in SINGLE_KEYS


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
