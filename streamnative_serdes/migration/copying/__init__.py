"""Messages from the source to the target, with the progress of it, dead letters and consumer groups."""
