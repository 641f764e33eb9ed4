"""JSON by the rules of Jackson, with which Pulsar's Java client writes and reads the messages of JSON topics."""
