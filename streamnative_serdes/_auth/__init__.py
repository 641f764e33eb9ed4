"""Credentials for the registry and for Kafka: user and password, tokens, OAuth."""
