"""Whole configurations: read, formatted, loaded and upgraded."""
