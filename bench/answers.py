"""What every load generator can find."""

from __future__ import annotations


class WrongAnswer(Exception):
    """A server answered something else than the case says: its figures would mean nothing."""
