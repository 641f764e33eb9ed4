"""The user's options, references to secrets, and the Kafka client's configuration that is made of both."""
