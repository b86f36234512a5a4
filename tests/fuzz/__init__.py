"""Input that nobody would write: it must end in an answer or in one message."""
