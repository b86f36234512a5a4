"""Result of `whimbrel verify` as text, JSON, SARIF and HTML: one module for each format.

Public: text.render, json.render, sarif.render, html.render; entries.report_of.
Must not import: cli, server.
"""
