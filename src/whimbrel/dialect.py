"""The three dialects of one engine, as data: every difference in behaviour is one switch.

A switch names its row of the table of changes (C.., X..), or `wire` where no configuration text could show the difference.  Switches are read when
a configuration is compiled, never while a request is answered.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any


def switch(row: str, meaning: str) -> Any:
    """A named difference: *row* of the table of changes, and what True (or the value) means."""
    return field(metadata={"row": row, "meaning": meaning})


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How one version of httpd behaves where the two differ."""

    name: str
    version: tuple[int, int, int] = field(metadata={"row": "wire", "meaning": "what IfVersion compares with, and ServerTokens' family"})

    # configuration language
    ah_codes: bool = switch("C52", "messages carry AH codes and the error log names module and process")
    keepalive_any_word: bool = switch("C12", "KeepAlive takes any word; all but Off and 0 mean On")
    default_type: bool = switch("C13", "DefaultType gives unknown extensions a type (text/plain by default)")
    name_virtual_host: bool = switch("C14", "name-based virtual hosts need NameVirtualHost")
    options_mixed_signs: bool = switch("X01", "Options may mix signed and unsigned words")
    options_default_all: bool = switch("X02", "without any Options line all but MultiViews are on (2.4: FollowSymLinks)")
    include_needs_match: bool = switch("X03", "an Include whose wildcard matches nothing is an error")
    lenient_values: bool = switch("X09", "values that 2.2 let pass: ServerTokens Foo, KeepAliveTimeout abc, AllowOverride Options=Nonsense")
    unknown_require_word: bool = switch("X08", "an unknown word after Require is an error when the configuration is read")
    override_default_all: bool = switch("C09", "without any AllowOverride .htaccess files may hold everything")
    override_unset_ignores: bool = switch("C09", "without any AllowOverride .htaccess files are ignored (the upgrade guide's wording)")

    # requests
    etag_inode: bool = switch("C11", "the ETag of a file begins with its inode")
    sendfile_default: bool = switch("C10", "EnableSendfile is On unless set")
    access_in_core: bool = switch("C17", "Order, Allow, Deny are mod_authz_host's, Satisfy and Require the core's, as 2.2 ran them")
    old_access_wins: bool = switch("C20", "where Order and Require meet in one request both are asked")
    location_order_opens: bool = switch("C20", "a section's own Order, Allow, Deny replace an outer Require (the upgrade guide's wording)")
    authoritative_chain: bool = switch("C16", "Require is run module by module with Authz*Authoritative")
    group_by_modules: bool = switch("C18", "the word group belongs to whichever group module comes first")
    auth_merging: bool = switch("C22", "AuthMerging and Require containers exist")
    satisfy_any_logs: bool = switch("X13", "Satisfy Any logs denials of requests that end in 200")
    autoindex_xhtml: bool = switch("C25", "titles of .xhtml files are shown")
    underscore_headers: bool = switch("X17", "headers with an underscore reach programs")
    pipes_by_shell: bool = switch("C47", "a piped log is run by /bin/sh -c")
    merge_slashes: bool = switch("wire", "several slashes of a URL are one, unless MergeSlashes Off")
    trace_star: bool = switch("wire", "TRACE * is answered")
    error_page_doctype: str = switch("wire", "the document type of error pages")
    reasons_22: bool = switch("wire", "reason phrases of 2.2 (302 Found, 414 Request-URI Too Large)")
    strict_host: bool = switch("wire", "a Host that is no host name is refused")
    ranges_joined: bool = switch("wire", "overlapping ranges are joined; spaces in the list end it")


V22 = Dialect(
    name="2.2", version=(2, 2, 34),
    ah_codes=False, keepalive_any_word=True, default_type=True, name_virtual_host=True, options_mixed_signs=True, options_default_all=True,
    include_needs_match=False, lenient_values=True, unknown_require_word=False, override_default_all=True, override_unset_ignores=False,
    etag_inode=True, sendfile_default=True, access_in_core=True, old_access_wins=False, location_order_opens=False, authoritative_chain=True,
    group_by_modules=True, auth_merging=False, satisfy_any_logs=False, autoindex_xhtml=False, underscore_headers=True, pipes_by_shell=True,
    merge_slashes=False, trace_star=True, error_page_doctype="<!DOCTYPE HTML PUBLIC \"-//IETF//DTD HTML 2.0//EN\">", reasons_22=True,
    strict_host=False, ranges_joined=False,
)

V24 = Dialect(
    name="2.4", version=(2, 4, 71),
    ah_codes=True, keepalive_any_word=False, default_type=False, name_virtual_host=False, options_mixed_signs=False, options_default_all=False,
    include_needs_match=True, lenient_values=False, unknown_require_word=True, override_default_all=False, override_unset_ignores=False,
    etag_inode=False, sendfile_default=False, access_in_core=False, old_access_wins=True, location_order_opens=False, authoritative_chain=False,
    group_by_modules=False, auth_merging=True, satisfy_any_logs=True, autoindex_xhtml=True, underscore_headers=False, pipes_by_shell=False,
    merge_slashes=True, trace_star=False,
    error_page_doctype="<!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 4.01//EN\" \"http://www.w3.org/TR/html4/strict.dtd\">",
    reasons_22=False, strict_host=True, ranges_joined=True,
)

GUIDE = replace(V24, name="guide", override_unset_ignores=True, location_order_opens=True)

DIALECTS = {d.name: d for d in (V22, V24, GUIDE)}
