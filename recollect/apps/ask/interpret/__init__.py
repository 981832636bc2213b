"""Interpretations of a question to a database: link, propose, decide. Pure: the caller reads, runs and stores.

index = SchemaIndex.build(model, catalog)                 # once per source
linked = link_question(question, index, vocabulary, last=frame, today=day)
candidates = propose(linked)
decision = decide(candidates, results)                    # results: candidate id -> Result
"""

from recollect.apps.ask.interpret.decide import Decision, Result, decide, teaches
from recollect.apps.ask.interpret.frame import Frame
from recollect.apps.ask.interpret.index import SchemaIndex
from recollect.apps.ask.interpret.link import DefaultFilter, Linked, Vocabulary, Word, link_question
from recollect.apps.ask.interpret.propose import Candidate, candidate_from, propose
from recollect.apps.ask.interpret.render import CannotRender, render_frame
from recollect.apps.ask.interpret.values import FoundValue

__all__ = [
    "Candidate", "CannotRender", "Decision", "DefaultFilter", "FoundValue", "Frame", "Linked", "Result", "SchemaIndex",
    "Vocabulary", "Word", "candidate_from", "decide", "link_question", "propose", "render_frame", "teaches",
]  # fmt: skip
