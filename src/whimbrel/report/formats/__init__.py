"""Output formats of a Report: text, json, sarif, github, junit, html; one module for each.

Public: each module has render(report) -> str (text: render(report, colored=)).
cli/check.py has the table FORMATTERS from --format to the module.
Must not import: cli, upgrade (except upgrade.model.Risk), another format.
"""
