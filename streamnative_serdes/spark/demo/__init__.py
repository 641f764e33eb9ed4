"""The main job: all flights of New York 2013 through serializer, topic and deserializer, and back."""
