"""Compares our data source with Spark's own Kafka source; see __main__."""
