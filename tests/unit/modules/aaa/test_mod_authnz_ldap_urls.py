"""AuthLDAPURL: the parts are those that apache2 2.4.71 logs at trace1 (`auth_ldap url parse`)."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.access_site import MODULES, AccessSite

from whimbrel.base.errors import ConfigError
from whimbrel.modules.aaa.mod_authnz_ldap.url import parse


@pytest.mark.parametrize(
    ("text", "base", "attributes", "scope", "wanted"),
    [
        ("ldap://h/o=x", "o=x", (), "subtree", "objectclass=*"),
        ("ldap://h/o=x?uid,mail?one?(a=b)", "o=x", ("uid", "mail"), "onelevel", "a=b"),
        ("ldap://h/o=x?uid?sub?a=b", "o=x", ("uid",), "subtree", "a=b"),
        ("ldap://h/o=x?uid?one?(a=b)?ext", "o=x", ("uid",), "onelevel", "a=b"),
        ("ldap://h/o=x?uid?one?(a=b)?!ext,more", "o=x", ("uid",), "onelevel", "a=b"),
        ("ldap://h/o=x?uid?one?(a=b%3fc)", "o=x", ("uid",), "onelevel", "a=b?c"),
        ("ldap://h/o=x????ext", "o=x", (), "subtree", "objectclass=*"),
    ],
)
def test_the_parts_of_a_url(
    text: str, base: str, attributes: tuple[str, ...], scope: str, wanted: str
) -> None:
    """The filter is kept without its parentheses; extensions are not used (RFC 4516, 2)."""
    url = parse(text)
    assert (url.base, url.attributes, url.filter) == (base, attributes, wanted)
    assert url.scope == scope and url.uris == "ldap://h:389"


@pytest.mark.parametrize(
    ("text", "uris"),
    [
        ("ldap://h/o=x", "ldap://h:389"),
        ("ldaps://h/o=x", "ldaps://h:636"),
        ("ldapi://h/o=x", "ldap://h:389"),
        ("ldap://h:1389/o=x", "ldap://h:1389"),
        ("ldaps://h:389/o=x", "ldaps://h:389"),
        ("ldap://a%20b:7/o=x", "ldap://a:389 ldap://b:7"),
    ],
)
def test_the_port_of_a_scheme(text: str, uris: str) -> None:
    assert parse(text).uris == uris


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("ldap://h/o=x?uid?one?(a=b)?", "Bad extensions encountered while parsing LDAP URL."),
        ("ldap://h/o=x?uid?one?(a=b)?x?y", "Bad URL encountered while parsing LDAP URL."),
        ("ldap://h/o=x?uid?two", "Bad scope encountered while parsing LDAP URL."),
        ("http://h/o=x", "The scheme was not recognised as a valid LDAP URL scheme."),
    ],
)
def test_urls_that_are_refused(tmp_path: Path, url: str, message: str) -> None:
    conf = f'<Location />\nAuthLDAPURL "{url}"\n</Location>\n'
    with pytest.raises(ConfigError) as problem:
        AccessSite(tmp_path, conf, "2.4", MODULES["2.4"] + " ldap authnz_ldap")
    assert message in problem.value.reason
