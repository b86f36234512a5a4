"""Do the tests notice? Places of src are changed, and the tests that run them must fail (`make mutants`)."""
