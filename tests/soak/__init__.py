"""Long mixed load on real servers: `make soak` and `make races`; its measures are those of tests/hostile."""
