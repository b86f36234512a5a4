"""Errors that every load generator raises."""

from __future__ import annotations


class WrongResponse(Exception):
    """Response other than the case expects: the figures of the run would be meaningless."""
