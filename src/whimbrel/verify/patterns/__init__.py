"""Patterns compared as languages over bytes: equal, different with samples, or not decided.

Public: languages.compare_patterns, languages.Pattern; pairs.pattern_pairs; pattern_probes.
Must not import: upgrade.
"""
