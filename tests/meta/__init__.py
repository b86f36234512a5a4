"""Rules of the repository as tests: budgets, names, docstrings, imports, honest tests, documents."""
