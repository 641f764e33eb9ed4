"""HTTP: one request to a server with a deadline, over TLS, retried where a failure may pass."""
