"""Offsets: where to start and to end, what the brokers have, and how batches are cut, limited and checkpointed."""
