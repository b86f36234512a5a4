"""An engine without sockets, for tests and tools: a configuration as a fixture."""
