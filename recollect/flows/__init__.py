"""One module per group of verbs: read from the store, think, write. `engine.py` calls them; no flow holds a connection
while a model thinks."""
