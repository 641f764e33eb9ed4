"""Offsets: starts and ends, answers of the brokers, and the ranges, limits and checkpoints of batches."""
