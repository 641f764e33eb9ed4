"""Schemas of one registry, registered in the other one, and the compatibility strategies in the way."""
