"""Formats of the report of a fleet, one module each with `render`.

Public: text, json, html.
Must not import: cli.
"""
