"""Filters, includes, listings, logs: what an answer consists of."""

from __future__ import annotations

from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.rules.content import (
    c24_authn_provider_alias,
    c25_xhtml_titles,
    c28_charset_debug_level,
    c29_dav_lock_db,
    c30_deflate_small,
    c31_dump_io_log_level,
    c32_ext_filter_debug_level,
    c33_filter_provider,
    c34_output_filter_by_type,
    c35_ssi_expressions,
    c38_request_read_timeout,
    c39_rewrite_log,
    c44_substitute_lines,
)

RULES: tuple[Rule, ...] = (
    c24_authn_provider_alias.RULE,
    c25_xhtml_titles.RULE,
    c28_charset_debug_level.RULE,
    c29_dav_lock_db.RULE,
    c30_deflate_small.RULE,
    c31_dump_io_log_level.RULE,
    c32_ext_filter_debug_level.RULE,
    c33_filter_provider.RULE,
    c34_output_filter_by_type.RULE,
    c35_ssi_expressions.RULE,
    c35_ssi_expressions.ERRORS,
    c38_request_read_timeout.RULE,
    c39_rewrite_log.RULE,
    c44_substitute_lines.RULE,
)
