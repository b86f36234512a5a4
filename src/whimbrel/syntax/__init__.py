"""From bytes to a lossless tree that knows no directive, and back; edits as byte ranges.

Public: tree.parse, edits.{Edit, Group, apply}, format.formatted, lines, spans, words.
Every byte is retained; text that cannot be read is a Malformed node.
Must not import: directives, catalogue, config.
"""
