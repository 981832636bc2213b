"""Questions to databases, answered with SQL.

`analyst.py` is the flow from a question to an answer, and the place to begin. The values that it passes along are in
`question.py` (what is asked and answered) and `inquiry.py` (a question at one source, with what is known about it).

    memories/     what memory has for a question, as query vocabulary; approved questions; messages that teach or forget
    interpret/    candidate interpretations of a question by rules; pure
    candidates/   ways to an answer without a model: vetted statements, interpretations that were run, choices
    llm/          ways to an answer with a model: prompts, statements fitted to the data, agreement
    gate/         the one check of every statement before it runs
    sources/      databases and files, opened for reading only; `source_registry.py` holds them ready
    semantic/     the catalog of a source, its semantic model, and what a role may see
    answers/      answers in words, in the log, and as the fields of a response; `charts.py` draws them
    corrections/  what a corrected statement changes, and what that teaches

`teaching.py` has the verbs by which people teach: meanings, corrections, ratings, approved questions. `sample.py` makes
the sample database, `sql_text.py` has what several of these do with syntax trees, and `words.py` reads words and
numbers.
"""
