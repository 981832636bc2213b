"""The HTTP door: one ASGI application that carries every route. It only translates: parse, one verb, render."""
