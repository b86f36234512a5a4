"""The three dialects of one engine, as data: every difference in behaviour is one switch.

A switch names its row of the table of changes (C.., X..), or else

    wire      no configuration text could show the difference;
    added     2.4 takes what 2.2 refuses: no configuration of 2.2 can hold it;
    unlisted  the same text means something else, and the table has no row for it.

A switch is read where its difference is decided, while a configuration is compiled.  Which directives,
modules and providers there are is data of those (`versions=`); `version` is for what compares versions, and
for choosing among the catalogues.
"""

from __future__ import annotations

from whimbrel.base.lazy_dataclasses import dataclass, field, replace
from whimbrel.base.static_typing import Any


def switch(row: str, meaning: str) -> Any:
    """Return a named difference: *row* of the table of changes, and what True (or the value) means."""
    return field(metadata={"row": row, "meaning": meaning})


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """The behaviour of one version of httpd where the two differ."""

    name: str
    version: tuple[int, int, int] = field(
        metadata={"row": "wire", "meaning": "what IfVersion compares with, and ServerTokens' family"}
    )

    # reading a configuration
    messages_24: bool = switch(
        "C52",
        "messages are worded as 2.4 words them, carry AH codes, and the error log names module and process",
    )
    lines_22: bool = switch(
        "unlisted",
        "lines, words and ${NAME} by the rules of 2.2: 8 KiB, the environment alone, <If...> up to the "
        "last >",
    )
    contexts_22: bool = switch(
        "unlisted",
        "lines stand where 2.2 lets them: setters ask for <Limit>, directories have aliases; errors name no "
        "section",
    )
    limit_must_matter: bool = switch(
        "X20", "a <Limit> that changes nothing, or names an unknown method in .htaccess, is an error"
    )
    include_needs_match: bool = switch(
        "X03", "an Include whose wildcard matches nothing is an error; wildcards may stand for directories"
    )
    main_file_may_miss: bool = switch(
        "wire", "with -C or -c lines the default configuration file may be missing"
    )
    hosts_copy_log_level: bool = switch(
        "unlisted",
        "a virtual host begins with the main server's LogLevel: messages about its lines are not lost",
    )
    named_groups: bool = switch("added", "regular expressions know (?<name>...)")
    keywords_24: bool = switch("added", "words, keywords and formats that 2.4 added to known directives")
    expressions: bool = switch("added", "SetHandler, ErrorDocument, Header and CustomLog take expressions")
    sections_give_paths: bool = switch(
        "added", "a Redirect without path is about the section that it stands in"
    )
    ampersand_is_match: bool = switch(
        "unlisted", "& in a substitution (RedirectMatch, SetEnvIf, Header edit) is the whole match"
    )
    keepalive_any_word: bool = switch("C12", "KeepAlive takes any word; all but Off and 0 mean On")
    default_type: bool = switch("C13", "DefaultType gives unknown extensions a type (text/plain by default)")
    name_virtual_host: bool = switch(
        "C14", "name-based virtual hosts need NameVirtualHost; _default_ is no *"
    )
    listen_22: bool = switch(
        "unlisted",
        "Listen takes the first address of a name and no scope; the same address twice fails when it is "
        "bound",
    )
    options_mixed_signs: bool = switch("X01", "Options may mix signed and unsigned words")
    options_default_all: bool = switch(
        "X02", "without any Options line all but MultiViews are on (2.4: FollowSymLinks)"
    )
    lenient_values: bool = switch(
        "X09",
        "values that 2.2 let pass: ServerTokens Foo, KeepAliveTimeout abc, AllowOverride Options=Nonsense",
    )
    unknown_require_word: bool = switch(
        "X08", "an unknown word after Require is an error when the configuration is read"
    )
    override_default_all: bool = switch(
        "C09", "without any AllowOverride .htaccess files may hold everything"
    )
    override_unset_ignores: bool = switch(
        "C09", "without any AllowOverride .htaccess files are ignored (the upgrade guide's wording)"
    )
    checks_log_directories_first: bool = switch(
        "unlisted", "the directories of all logs must exist before anything starts"
    )
    process_numbers_late: bool = switch(
        "unlisted", "the numbers of processes and threads are checked together, once all is read"
    )
    paths_have_no_end: bool = switch(
        "unlisted", "no $ in <DirectoryMatch> or <Directory ~> ever matches (PCRE_NOTEOL)"
    )
    default_timeout_300: bool = switch("unlisted", "TimeOut is 300 seconds unless set (2.4: 60)")
    reqtimeout_defaults: bool = switch(
        "C38", "mod_reqtimeout sets times for head and body as soon as it is loaded"
    )
    body_limit: bool = switch("unlisted", "LimitRequestBody is 1 GiB unless set")
    rewrite_22: bool = switch("C39", "RewriteLog is a file of its own, and the rules run as 2.2 ran them")
    proxy_22: bool = switch(
        "unlisted",
        "mod_proxy as in 2.2: sections add to one list of mappings, cookies change at the first path, "
        "parameters, statuses and log lines",
    )
    dav_22: bool = switch(
        "unlisted",
        "mod_dav as in 2.2: 403 or 500 for a missing collection, ETags with the inode, LOCK without a look "
        "at the parent, state directories are shown",
    )
    substitute_22: bool = switch("C44", "Substitute takes lines of any length, and texts end at a NUL byte")
    overlong_line_is_eof: bool = switch(
        "unlisted", "a line too long for httpd ends a password or group file (2.2 cuts it into several)"
    )
    pipes_by_shell: bool = switch("C47", "a piped log is run by /bin/sh -c")

    # TLS
    tls_protocols_22: bool = switch(
        "X05", "SSLProtocol takes SSLv2 and SSLv3 but not TLSv1.3; overriding words cause no warning"
    )
    engine_not_inherited: bool = switch(
        "unlisted", "SSLEngine of the main server does not apply to virtual hosts"
    )
    tls_start_22: bool = switch(
        "unlisted", "a start reads the certificates of all servers first, one for each kind of key, and exits"
    )
    requirements_22: bool = switch("unlisted", "SSLRequire has a language of its own")
    ignores_alpn: bool = switch("unlisted", "the client's application protocols (ALPN) are ignored")
    host_must_be_sni: bool = switch("unlisted", "a request's host must be the name that TLS indicated (SNI)")
    revocation_always: bool = switch("C40", "revocation lists are checked as soon as they are configured")
    slash_names: bool = switch("C41", "names of certificates are written /C=XX/CN=NAME")
    peer_checks_22: bool = switch(
        "C43", "certificates of back ends are not checked by default, and their name is the CN alone"
    )

    # access
    access_in_core: bool = switch(
        "C17", "Order, Allow, Deny are mod_authz_host's, Satisfy and Require the core's, as 2.2 ran them"
    )
    guide_order_replaces_require: bool = switch(
        "C20", "a section's own Order, Allow, Deny replace an outer Require (the upgrade guide's wording)"
    )
    authoritative_chain: bool = switch("C16", "Require is run module by module with Authz*Authoritative")
    group_by_modules: bool = switch("C18", "the word group belongs to whichever group module comes first")
    auth_merging: bool = switch("C22", "AuthMerging and Require containers exist")
    satisfy_any_logs: bool = switch("X13", "Satisfy Any logs denials of requests that end in 200")

    # responses
    request_fields_set_type: bool = switch(
        "unlisted", "RequestHeader changes the Content-Type of the response too"
    )
    subrequests_share_fields: bool = switch(
        "unlisted", "RequestHeader in a sub-request changes the fields of the request too"
    )
    all_types_select_handlers: bool = switch(
        "unlisted", "a Content-Type of Header early, mod_cern_meta or a script selects the handler"
    )
    header_edits_type: bool = switch("unlisted", "Header edit changes the Content-Type too")
    language_case: bool = switch("unlisted", "LanguagePriority distinguishes the case of its words")
    etag_inode: bool = switch("C11", "the ETag of a file begins with its inode")
    autoindex_xhtml: bool = switch("C25", "titles of .xhtml files are shown")
    underscore_headers: bool = switch("X17", "headers with an underscore reach programs")
    missing_is_error: bool = switch("C52", "a file that is not there is logged as an error (2.4: info)")
    pages_22: bool = switch(
        "wire", "listings and status pages look as in 2.2, ExtendedStatus is mod_status's"
    )
    ssi_old_parser: bool = switch(
        "C35", "#if expressions of server-side includes are read by the parser of 2.2"
    )
    unique_id_from_address: bool = switch(
        "wire", "UNIQUE_ID and mod_usertrack's cookie are made of addresses (2.4: of chance)"
    )
    user_dot_refused: bool = switch("wire", "/~./ is nobody's folder")
    leading_dot_is_name: bool = switch("wire", "dots at the beginning of a file name begin no extension")
    merge_slashes: bool = switch("wire", "several slashes of a URL are one, unless MergeSlashes Off")
    error_page_doctype: str = switch("wire", "the document type of error pages")
    wire_22: bool = switch(
        "wire",
        "heads of requests, responses and scripts as 2.2 read and wrote them (302 Found, 414 Request-URI Too "
        "Large)",
    )
    strict_host: bool = switch("wire", "a Host that is no host name is refused")
    ranges_joined: bool = switch("wire", "overlapping ranges are joined; spaces in the list end it")
    cache_22: bool = switch(
        "C27",
        "mod_cache: a URL of CacheEnable without scheme matches proxied content too; entries are selected "
        "without the request's conditions, unsafe methods change nothing, no field shows what happened",
    )
    cache_partial_session_ids: bool = switch(
        "C26", "CacheIgnoreURLSessionIdentifiers: the end of a parameter's name is enough"
    )


V22 = Dialect(
    name="2.2",
    version=(2, 2, 34),
    messages_24=False,
    hosts_copy_log_level=True,
    lines_22=True,
    contexts_22=True,
    limit_must_matter=False,
    include_needs_match=False,
    main_file_may_miss=True,
    named_groups=False,
    keywords_24=False,
    expressions=False,
    sections_give_paths=False,
    ampersand_is_match=True,
    keepalive_any_word=True,
    default_type=True,
    name_virtual_host=True,
    listen_22=True,
    options_mixed_signs=True,
    options_default_all=True,
    lenient_values=True,
    unknown_require_word=False,
    override_default_all=True,
    override_unset_ignores=False,
    checks_log_directories_first=False,
    process_numbers_late=False,
    paths_have_no_end=True,
    default_timeout_300=True,
    reqtimeout_defaults=False,
    body_limit=False,
    rewrite_22=True,
    proxy_22=True,
    dav_22=True,
    substitute_22=True,
    overlong_line_is_eof=False,
    pipes_by_shell=True,
    tls_protocols_22=True,
    engine_not_inherited=True,
    tls_start_22=True,
    requirements_22=True,
    ignores_alpn=True,
    host_must_be_sni=True,
    revocation_always=True,
    slash_names=True,
    peer_checks_22=True,
    access_in_core=True,
    guide_order_replaces_require=False,
    authoritative_chain=True,
    group_by_modules=True,
    auth_merging=False,
    satisfy_any_logs=False,
    request_fields_set_type=True,
    subrequests_share_fields=True,
    all_types_select_handlers=True,
    header_edits_type=False,
    language_case=True,
    etag_inode=True,
    autoindex_xhtml=False,
    underscore_headers=True,
    missing_is_error=True,
    pages_22=True,
    ssi_old_parser=True,
    unique_id_from_address=True,
    user_dot_refused=False,
    leading_dot_is_name=False,
    merge_slashes=False,
    error_page_doctype='<!DOCTYPE HTML PUBLIC "-//IETF//DTD HTML 2.0//EN">',
    wire_22=True,
    strict_host=False,
    ranges_joined=False,
    cache_22=True,
    cache_partial_session_ids=True,
)

V24 = Dialect(
    name="2.4",
    version=(2, 4, 71),
    messages_24=True,
    hosts_copy_log_level=False,
    lines_22=False,
    contexts_22=False,
    limit_must_matter=True,
    include_needs_match=True,
    main_file_may_miss=False,
    named_groups=True,
    keywords_24=True,
    expressions=True,
    sections_give_paths=True,
    ampersand_is_match=False,
    keepalive_any_word=False,
    default_type=False,
    name_virtual_host=False,
    listen_22=False,
    options_mixed_signs=False,
    options_default_all=False,
    lenient_values=False,
    unknown_require_word=True,
    override_default_all=False,
    override_unset_ignores=False,
    checks_log_directories_first=True,
    process_numbers_late=True,
    paths_have_no_end=False,
    default_timeout_300=False,
    reqtimeout_defaults=True,
    body_limit=True,
    rewrite_22=False,
    proxy_22=False,
    dav_22=False,
    substitute_22=False,
    overlong_line_is_eof=True,
    pipes_by_shell=False,
    tls_protocols_22=False,
    engine_not_inherited=False,
    tls_start_22=False,
    requirements_22=False,
    ignores_alpn=False,
    host_must_be_sni=False,
    revocation_always=False,
    slash_names=False,
    peer_checks_22=False,
    access_in_core=False,
    guide_order_replaces_require=False,
    authoritative_chain=False,
    group_by_modules=False,
    auth_merging=True,
    satisfy_any_logs=True,
    request_fields_set_type=False,
    subrequests_share_fields=False,
    all_types_select_handlers=False,
    header_edits_type=True,
    language_case=False,
    etag_inode=False,
    autoindex_xhtml=True,
    underscore_headers=False,
    missing_is_error=False,
    pages_22=False,
    ssi_old_parser=False,
    unique_id_from_address=False,
    user_dot_refused=True,
    leading_dot_is_name=True,
    merge_slashes=True,
    error_page_doctype=(
        '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01//EN" "http://www.w3.org/TR/html4/strict.dtd">'
    ),
    wire_22=False,
    strict_host=True,
    ranges_joined=True,
    cache_22=False,
    cache_partial_session_ids=False,
)

GUIDE = replace(V24, name="guide", override_unset_ignores=True, guide_order_replaces_require=True)

DIALECTS = {d.name: d for d in (V22, V24, GUIDE)}
