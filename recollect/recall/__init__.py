"""Search as pure functions: text analysis, scoring, ranking and packing. flows/recall.py and flows/documents.py call
them with what the store read."""
