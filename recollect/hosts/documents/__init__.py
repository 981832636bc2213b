"""The host "upload and ask": questions to documents, with what was said before and what is remembered."""
