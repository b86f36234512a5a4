"""Foundations that know nothing of HTTP or httpd: bytes as text, errors, dialects, patterns, numbers.

Public: latin1, errors, dialect, builds, bounded_dict, lazy_dataclasses, lazy_re, regex, short_searches, pcre,
sync_waits, fnmatch, net, numbers.
regex guards PCRE against patterns that do not end; lazy_* postpone work that a start does not need.
Must not import: any other package of whimbrel.
"""
