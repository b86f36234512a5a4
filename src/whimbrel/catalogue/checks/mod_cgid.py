"""mod_cgid's argument rules."""

from __future__ import annotations

from whimbrel.catalogue.checks.rules import Rule, duration

CHECKS: dict[str, Rule] = {"cgidscripttimeout": duration("CGIDScriptTimeout has wrong format")}
