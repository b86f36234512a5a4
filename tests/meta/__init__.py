"""The repository tests itself: budgets, docstrings, layers, honest tests."""
