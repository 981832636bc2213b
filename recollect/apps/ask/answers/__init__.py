"""Answers in words, in the log and as the fields of a response."""
