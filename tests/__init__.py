"""Tests: unit (mirrors the package), conformance (recorded responses), differential (live apache2), meta."""
