"""Topics: which schema belongs to which topic and version, looked up once and remembered."""
