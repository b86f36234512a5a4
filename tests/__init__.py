"""The tests: unit (mirrors the package), conformance (recorded answers), differential (live apache2), meta (the repository itself)."""
