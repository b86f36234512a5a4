"""Markdown of the documentation site: documents of the repository, and pages from code and catalogue.

Usage: python -m tools.documentation DIRECTORY; zensical.toml names the directory. `check_site.py` checks
what zensical has built. Nothing of this is written into the repository.
"""
