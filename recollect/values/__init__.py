"""The nouns: immutable dataclasses that check themselves, and pure functions about them. Nothing here does I/O."""
