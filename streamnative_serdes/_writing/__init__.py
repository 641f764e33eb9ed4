"""How objects and batches are written: by which schema version of the topic."""
