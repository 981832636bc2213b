"""Adapters of the ports to outside services: language models, embedders, Redis, JSON Web Tokens, files, and fakes for
tests. bootstrap.py chooses between them."""
