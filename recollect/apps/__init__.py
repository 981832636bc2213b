"""Hosts: applications on top of Engine. They use its verbs and nothing below it; a door or wire.py starts them."""
