"""How messages are read: the attempts to make, in order, for single messages and for batches."""
