"""The comparison of both topics, message by message."""
