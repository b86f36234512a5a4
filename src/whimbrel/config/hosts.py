"""Placeholder of look-up tables."""

from __future__ import annotations


class Hosts:
    """See vhosts."""
