"""The Spark data source ``streamnative-kafka``: reads and writes Kafka topics, in batches and in streams."""
