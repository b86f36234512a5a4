"""Access control of a 2.2 configuration, rewritten so that 2.4 decides the same for every request."""
