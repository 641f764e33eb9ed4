"""Checks before the first message is copied: of the source's messages, the target topic and its broker."""
