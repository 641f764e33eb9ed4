"""Types: those of Avro, Pulsar and Arrow as Spark's, and back; names of columns and of fields."""
