"""The work of a request: counted, not timed."""
