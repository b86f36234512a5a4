"""Statuses by what they mean for access: for tests that compare several of them."""

from __future__ import annotations

from typing import Final

ALLOWED: Final = 200
CHALLENGED: Final = 401  # credentials are missing or wrong
DENIED: Final = 403
NOT_FOUND: Final = 404
FAILED: Final = 500
