"""C53: directives and modules that 2.2 had already removed. Document: documents/C53-older-than-22.md"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.upgrade.model import Finding, Risk
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree, Role

DIRECTIVES: Final = {
    "authauthoritative": "AuthBasicAuthoritative",
    "authdbmauthoritative": "AuthBasicProvider dbm",
    "anonymous_authoritative": "AuthBasicProvider anon",
    "authdigestfile": "AuthUserFile and AuthDigestProvider file",
    "authdigestgroupfile": "AuthGroupFile",
    "authldapenabled": "AuthBasicProvider ldap",
    "authldapauthoritative": "AuthzLDAPAuthoritative",
    "authldapfrontpagehack": "",
    "ldaptrustedca": "LDAPTrustedGlobalCert",
    "ldaptrustedcatype": "LDAPTrustedGlobalCert",
    "cachesize": "htcacheclean",
    "cachegcinterval": "htcacheclean",
    "cachegcclean": "htcacheclean",
    "cachegcdaily": "htcacheclean",
    "cachegcmemusage": "htcacheclean",
    "cachegcunused": "htcacheclean",
    "cacheexpirycheck": "",
    "cachetimemargin": "",
    "cacheforcecompletion": "",
    "cacheon": "CacheEnable",
    "maxthreadsperchild": "",
    "numservers": "StartServers",
    "childperuserid": "",
    "ssllog": "ErrorLog",
    "sslloglevel": "LogLevel",
    "agentlog": "CustomLog",
    "refererlog": "CustomLog",
    "refererignore": "CustomLog",
    "port": "Listen",
    "bindaddress": "Listen",
    "servertype": "",
    "clearmodulelist": "",
    "addmodule": "",
    "resourceconfig": "Include",
    "accessconfig": "Include",
}
"""Directives of 2.0 and 1.3 that 2.2 refuses, with their successors."""
MODULES: Final = {
    "access_module": "authz_host_module",
    "action_module": "actions_module",
    "agent_log_module": "log_config_module",
    "anon_auth_module": "authn_anon_module",
    "auth_module": "auth_basic_module, authn_file_module and authz_groupfile_module",
    "auth_anon_module": "authn_anon_module",
    "auth_dbm_module": "authn_dbm_module and authz_dbm_module",
    "auth_ldap_module": "authnz_ldap_module",
    "auth_digest_file_module": "auth_digest_module",
    "beos_module": "",
    "config_log_module": "log_config_module",
    "db_auth_module": "authn_dbm_module and authz_dbm_module",
    "dbm_auth_module": "authn_dbm_module and authz_dbm_module",
    "digest_module": "auth_digest_module",
    "imap_module": "imagemap_module",
    "includes_module": "include_module",
    "leader_module": "",
    "log_agent_module": "log_config_module",
    "log_referer_module": "log_config_module",
    "mmap_static_module": "file_cache_module",
    "perchild_module": "",
    "referer_log_module": "log_config_module",
    "threadpool_module": "",
}
STEP: Final = "upgrade from 2.0 to 2.2 first"


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield directives and modules that no 2.2 has."""
    for line in tree.named(*DIRECTIVES):
        if line.file.role is not Role.FRAGMENT or line.name not in ("port", "addmodule"):
            new = DIRECTIVES[line.name]
            advice = f"{STEP}: {new}" if new else STEP
            yield Finding(
                "C53",
                line.place,
                f"{line.node.name} is older than 2.2, which refuses it",
                advice,
                Risk.BREAKS,
            )
    for line in tree.named("loadmodule"):
        name = "".join(line.words()[:1])
        if name in MODULES:
            new = MODULES[name]
            yield Finding(
                "C53",
                line.place,
                f"{name} is older than 2.2, which cannot load it",
                f"{STEP}{f': {new}' if new else ''}",
                Risk.BREAKS,
            )


RULE = Rule("C53", "older-than-22", "What is older than 2.2", check)
