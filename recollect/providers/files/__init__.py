"""Uploaded files as blocks of text. `ConfinedReader` in reader.py is the entry point; child.py reads in another
process."""
