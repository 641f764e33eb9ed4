"""What a Pulsar broker accepts, and how it refuses: rules for schemas of all types, with no server."""
