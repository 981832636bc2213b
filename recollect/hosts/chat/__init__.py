"""Chat: an assistant that remembers, with a language model and without.

`assistant.py` takes a message the whole way; `without_model.py` answers from memory alone, worded by `answers.py` and
`phrases.py`; `prompt.py` says what a model is told, `voice.py` hears it out. The values are in model/chat.py.
`proxy.py` gives memory to conversations that others hold with a model of theirs, in OpenAI's protocol.
"""
