"""Adapters that offer the engine through the interfaces of other libraries: mem0, LangGraph, LangChain, LlamaIndex,
Anthropic's memory tool and the OpenAI Agents SDK. They use the engine only, never the layers below it.

anthropic_files.py and mem0_facts.py convert values and need none of these libraries.
"""
