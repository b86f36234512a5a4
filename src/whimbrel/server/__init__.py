"""Sockets, workers, signals and logs; knows no directive."""
