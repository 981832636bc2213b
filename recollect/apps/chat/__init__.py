"""Chat with memory, with a language model or without one.

`assistant.py` handles a message from start to end. `without_model.py` replies from memory alone, with the texts of
`answers.py` and `phrases.py`. `model_reply.py` builds the prompt and streams a model's reply. `proxy.py` adds memory to
OpenAI-compatible chat completions that go to another server.
"""
