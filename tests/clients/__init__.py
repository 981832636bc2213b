"""Clients in other languages, as they are committed: up to date, sound, and run against a real server."""
