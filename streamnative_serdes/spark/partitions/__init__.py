"""Rows as Python objects in tasks: a sink for foreachPartition and foreachBatch, and a source for RDDs."""
