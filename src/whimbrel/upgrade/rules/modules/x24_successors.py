"""X24: modules of 2.2 and their successors in 2.4.  Document: documents/X24-successors.md"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.catalogue import catalogue
from whimbrel.upgrade.estate import Estate
from whimbrel.upgrade.model import Finding, Risk, Rule

SUCCESSORS: Final = {
    "bw_module": "mod_ratelimit", "bwshare_module": "mod_ratelimit", "auth_token_module": "mod_auth_token for 2.4, or Require expr",
    "macro_module": "mod_macro of 2.4 itself", "proxy_html_module": "mod_proxy_html of 2.4 itself", "xml2enc_module": "mod_xml2enc of 2.4 itself",
    "auth_mysql_module": "mod_authn_dbd", "mysql_auth_module": "mod_authn_dbd", "auth_pgsql_module": "mod_authn_dbd", "scgi_module": "mod_proxy_scgi",
    "fastcgi_module": "mod_proxy_fcgi, or mod_fcgid built for 2.4", "uwsgi_module": "mod_proxy_uwsgi", "authz_ldap_module": "mod_authnz_ldap",
    "lua_module": "mod_lua of 2.4 itself", "sed_module": "mod_sed of 2.4 itself", "form_module": "mod_request", "auth_form_module": "mod_auth_form",
    "cband_module": "mod_ratelimit, mod_reqtimeout", "deny_module": "Require", "security_module": "mod_security2 built for 2.4",
    "proxy_fcgi_module": "mod_proxy_fcgi of 2.4 itself", "macro": "mod_macro of 2.4 itself",
}


def check(estate: Estate) -> Iterator[Finding]:
    """LoadModule lines of such modules."""
    old = catalogue("2.2")
    for line in estate.named("loadmodule"):
        name = "".join(line.words()[:1])
        if name in SUCCESSORS and old.module(name) is None:
            new = SUCCESSORS[name]
            if "itself" in new:
                yield Finding("X24", line.place, f"{name} came from elsewhere in 2.2; 2.4 brings it itself",
                              "leave out the file that was built for 2.2", Risk.COSMETIC)
            else:
                yield Finding("X24", line.place, f"{name} was built for 2.2, and 2.4 has a successor", f"see {new}", Risk.BREAKS)


RULE = Rule("X24", "successors", "Modules with a successor", check)
