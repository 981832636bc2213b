"""Other people's shapes over the Engine: code written for them keeps running, and what it keeps has an owner, a source
and a history. Siblings of the doors: they speak to the engine, never past it.

    langgraph.py   RecollectStore, a LangGraph BaseStore      items.py      an item as a memory, and back; pure
    mem0.py        Memory and AsyncMemory                     facts.py      a memory in mem0's dicts and ids; pure
    keeper.py      what mem0.py asks of the engine            messages.py   messages in, events out; pure
    loop.py        one engine, awaited or waited for          filters.py    which values are meant; pure
    langchain.py   a message history and a retriever          sessions.py   a session of the log, page by page
    llamaindex.py  a memory block                             files.py      files as memories, and back; pure
    anthropic.py   Claude's memory tool                       openai_agents.py   a session of the Agents SDK
"""
