"""How much work a request makes: counted, not timed."""
