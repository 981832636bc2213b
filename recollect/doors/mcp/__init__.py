"""The Model Context Protocol: the engine's verbs as tools for assistants, over stdio and over HTTP.

    sdk.py         whether the protocol's SDK is there, and the sentence when it is not
    peer.py        who is at the other end, and whose memory that means: one way in for both transports
    arguments.py   what each tool takes, as its schema shows it
    results.py     what each tool gives, for programs and as text
    answers.py     the same, of the tools that ask databases and documents
    tools.py       each tool: parse, one verb, render
    readings.py    resources, and the prompt with memory
    refusals.py    what an error becomes
    server.py      all of it as a server of the SDK
    stdio.py       `recollect mcp`
    mount.py       /mcp of `recollect serve`

No tool takes a user: whose memory it is, the connection says, so that no text that an assistant reads can name another.
The SDK is an extra (`recollect[mcp]`); sdk.py, peer.py and mount.py do without it until somebody speaks the protocol.
"""
