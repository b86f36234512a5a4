"""mod_disk_cache's argument rules (2.2), those of mod_cache_disk."""

from __future__ import annotations

from whimbrel.catalogue.checks.mod_cache_disk import CHECKS

__all__ = ["CHECKS"]
