"""Documents of the rules (Markdown with examples), explanations of AH codes, messages, directives, modules.

Public: explain.{explain, search, suggestions, document, Explanation}. Data: NUMBER-NAME.md for each rule,
codes.tsv, messages.tsv.
Must not import: source, edits, check, apply; from upgrade/ only rule and rules.
"""
