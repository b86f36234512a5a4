"""mod_disk_cache's argument rules (2.2), which mod_cache_disk inherited."""

from __future__ import annotations

from whimbrel.catalogue.checks.mod_cache_disk import CHECKS

__all__ = ["CHECKS"]
