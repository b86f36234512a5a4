"""Upgrade rules about TLS and LDAP: protocols, session cache, revocation, certificates and names.

Public: the `RULE` of each file; upgrade.rules.rules_of("tls") finds them.
protocols is shared by the rules about SSLv2 and SSLv3.
Must not import: check, apply, cli; other areas of rules.
"""
