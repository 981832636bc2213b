"""Asking a language model for statements and for answers in words."""
