"""Fuzz targets: a module each with COVERED, TOKENS, seeds and run (tests/fuzz/target.py)."""
