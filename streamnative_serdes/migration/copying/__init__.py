"""Copying messages from the source to the target, with the progress, dead letters and consumer groups."""
