"""The report as one self-contained page, alike for check, upgrade, verify and replay.

Public: model.ReportPage; writing.write(page) -> str; check_page, upgrade_page, verify_page: of each result.
Data: base.css (tokens and parts, also the studio's), page.css, page.js, templates/*.html.j2.
Must not import: cli, replay; jinja2 and markdown_it except in functions.
"""
