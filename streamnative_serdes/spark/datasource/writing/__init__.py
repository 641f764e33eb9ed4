"""Writing: checks columns on the driver, and sends rows in tasks, if wanted in one transaction of Kafka for each."""
