"""Long mixed load on a real server: `make soak`, `make races`, and the one page of `make nightly`."""
