"""mod_cgi's argument rules."""

from __future__ import annotations

from whimbrel.catalogue.checks.rules import Rule, duration

CHECKS: dict[str, Rule] = {"cgiscripttimeout": duration("CGIScriptTimeout has wrong format")}
