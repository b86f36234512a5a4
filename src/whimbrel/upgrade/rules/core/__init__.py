"""Files that are read, defaults and values of the core, virtual hosts."""

from __future__ import annotations

from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.rules.core import (
    c10_sendfile,
    c11_file_etag,
    c13_default_type,
    c14_name_virtual_host,
    r06_ends_of_paths,
    r07_merged_slashes,
    r08_host_underscores,
    r09_strict_requests,
    r10_bare_access_lines,
    x01_mixed_options,
    x02_no_options,
    x03_include_without_match,
    x06_cookie_log,
    x09_lenient_values,
    x15_site_files,
    x16_undefined_variables,
    x17_underscores,
)

RULES: tuple[Rule, ...] = (
    c10_sendfile.RULE,
    c11_file_etag.RULE,
    c13_default_type.RULE,
    c14_name_virtual_host.RULE,
    r06_ends_of_paths.RULE,
    r07_merged_slashes.RULE,
    r08_host_underscores.RULE,
    r09_strict_requests.RULE,
    r10_bare_access_lines.RULE,
    x01_mixed_options.RULE,
    x02_no_options.RULE,
    x03_include_without_match.RULE,
    x06_cookie_log.RULE,
    x09_lenient_values.RULE,
    x15_site_files.RULE,
    x16_undefined_variables.RULE,
    x17_underscores.RULE,
)
