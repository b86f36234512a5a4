"""Third-party modules in configurations of 2.2, and their successors in 2.4."""

from __future__ import annotations

import re
from typing import Final

_RULES: Final = (
    (
        r"(?:mod_|lib)?php[3457]?",
        "PHP",
        "PHP 5.4 and later builds its module for 2.4, PHP 8 calls it php_module; with mpm_event use PHP-FPM: "
        'SetHandler "proxy:unix:/run/php/php-fpm.sock|fcgi://localhost" of mod_proxy_fcgi',
    ),
    (r"(?:mod_)?fcgid", "mod_fcgid", "mod_fcgid 2.3.7 and later builds for 2.4 and keeps its directives"),
    (
        r"(?:mod_)?fastcgi",
        "mod_fastcgi",
        "no release for 2.4: mod_proxy_fcgi of 2.4, or mod_fcgid built for 2.4",
    ),
    (r"(?:mod_)?suphp", "mod_suphp", "no longer maintained: PHP-FPM with a pool for each user, or mpm_itk"),
    (
        r"(?:mod_)?perl",
        "mod_perl",
        "mod_perl 2.0.9 and later builds for 2.4; handlers that use access control need its new methods",
    ),
    (r"(?:mod_)?python", "mod_python", "mod_python 3.5 builds for 2.4 and is hardly maintained: mod_wsgi"),
    (r"(?:mod_)?wsgi", "mod_wsgi", "mod_wsgi 3.4 and later builds for 2.4"),
    (
        r"(?:mod_)?(?:dav_svn|authz_svn|dontdothat)",
        "Subversion",
        "Subversion 1.8 and later brings mod_dav_svn and mod_authz_svn for 2.4",
    ),
    (
        r"(?:mod_)?security2?",
        "ModSecurity",
        "mod_security2 2.7 and later builds for 2.4; it needs mod_unique_id",
    ),
    (
        r"(?:mod_)?(?:mpm_)?itk",
        "mpm_itk",
        "in 2.4 it is the module mpm_itk_module, loaded beside mpm_prefork; AssignUserID stays",
    ),
    (
        r"(?:mod_)?(?:rpaf(?:-2\.0)?|extract_forwarded)",
        "mod_rpaf",
        "mod_remoteip of 2.4 does what it did (row X19)",
    ),
    (r"(?:mod_)?ruid2", "mod_ruid2", "built for 2.4 by some distributions; mpm_itk does the same"),
    (r"(?:mod_)?passenger", "Passenger", "Passenger 3.0.12 and later builds for 2.4"),
    (r"(?:mod_)?jk", "mod_jk", "mod_jk 1.2.33 and later builds for 2.4; mod_proxy_ajp of 2.4 is another way"),
    (
        r"(?:mod_)?evasive(?:20)?",
        "mod_evasive",
        "built for 2.4 by some distributions; mod_reqtimeout and a firewall do part of it",
    ),
    (r"(?:mod_)?bw(?:share)?|(?:mod_)?cband", "mod_bw", "mod_ratelimit of 2.4"),
    (r"(?:mod_)?auth_(?:mysql|pgsql)|mysql_auth", "mod_auth_mysql", "mod_authn_dbd of 2.4"),
    (r"(?:mod_)?auth_kerb", "mod_auth_kerb", "mod_auth_gssapi"),
    (r"(?:mod_)?authz_ldap", "mod_authz_ldap", "mod_authnz_ldap of 2.4"),
    (r"(?:mod_)?auth_token", "mod_auth_token", "mod_auth_token built for 2.4, or Require expr"),
    (r"(?:mod_)?scgi", "mod_scgi", "mod_proxy_scgi of 2.4"),
    (r"(?:mod_)?uwsgi", "mod_uwsgi", "mod_proxy_uwsgi of 2.4"),
    (r"(?:mod_)?deny", "mod_deny", "Require"),
    (r"(?:mod_)?pagespeed", "mod_pagespeed", "mod_pagespeed_ap24.so"),
    (r"(?:mod_)?xsendfile", "mod_xsendfile", "mod_xsendfile 1.0 builds for 2.4"),
    (
        r"(?:mod_)?upload_progress|(?:mod_)?uploadprogress",
        "mod_upload_progress",
        "it builds for 2.4 and is hardly maintained",
    ),
    (r"(?:mod_)?geoip", "mod_geoip", "mod_maxminddb"),
    (r"(?:mod_)?form", "mod_form", "mod_request of 2.4"),
)
_TABLE: Final = tuple((re.compile(pattern, re.IGNORECASE), name, fate) for pattern, name, fate in _RULES)


def fate(name: str) -> tuple[str, str] | None:
    """Return the product and its successor in 2.4, by identifier, source file or shared object of a module.

    The result is None for an unknown module.
    """
    base = name.strip().rpartition("/")[2].removesuffix(".so").removesuffix(".c").removesuffix("_module")
    return next(((product, text) for pattern, product, text in _TABLE if pattern.fullmatch(base)), None)
