"""Output formats of a Report: text, json, sarif, github, junit, html; one module for each.

Public: each module has render(report) -> str (text: render(report, style); frames are those of text).
The value of --format is the name of the module (cli/check.py).
Must not import: cli, upgrade (except upgrade.model.Risk), another format.
"""
