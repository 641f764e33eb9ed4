"""Apache Spark: the SerDes inside PySpark executors."""
