"""Processes, connections, user and locks."""
