"""The rules by which a Pulsar broker accepts or refuses schemas of all types, without a server."""
