"""What is looked at before the first message is copied: the source's messages, the target topic and its broker."""
