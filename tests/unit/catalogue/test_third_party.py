"""The table of products that httpd does not distribute, and what finds its lines."""

from __future__ import annotations

import pytest

from whimbrel.catalogue import catalogue
from whimbrel.catalogue.handlers import handler_table
from whimbrel.catalogue.third_party import (
    find_module,
    module_of_file,
    product_of,
    product_of_directive,
    products,
)
from whimbrel.modules import ALL

EFFECTS = {"application", "access", "protection", "headers", "speed", "limits", "logging"}
BUILT_IN, IGNORABLE, REFUSED = "built-in", "ignorable", "refused"


def test_the_table_has_forty_products_and_every_field_is_of_its_kind() -> None:
    assert len(products()) >= 40
    names = [product.name for product in products()]
    assert len(set(names)) == len(names)
    for product in products():
        assert product.effect in EFFECTS
        assert product.action in (BUILT_IN, IGNORABLE, REFUSED)
        assert product.modules
        assert product.successor and not product.successor.endswith(".")


def test_access_and_applications_are_never_ignorable() -> None:
    """Without such a module a client could enter, or could read the text of a program."""
    wrong = [p.name for p in products() if p.effect in ("access", "application") and p.is_ignorable]
    assert wrong == []


def test_modules_that_are_built_in_have_a_file_here_and_others_have_none() -> None:
    for product in products():
        for module in product.modules:
            assert (module.file in frozenset(ALL)) == product.is_built_in, module.file


@pytest.mark.parametrize("version", ["2.2", "2.4"])
def test_nothing_of_httpd_is_in_the_table(version: str) -> None:
    """mod_form, mod_deny and their like have names of their own; no directive of httpd belongs to a product
    unless the product was httpd's model.
    """
    theirs = {row.name.lower() for row in catalogue(version)}
    exact = {n.lower() for p in products() for n in p.directives if n[-1] != "*"}
    assert exact & theirs == set()
    identifiers = {row.identifier for row in catalogue(version).modules}
    assert identifiers.isdisjoint(module.identifier for p in products() for module in p.modules)


@pytest.mark.parametrize(
    ("name", "product"),
    [
        ("security2_module", "ModSecurity"),
        ("/usr/lib/apache2/modules/mod_security2.so", "ModSecurity"),
        ("mod_security2.c", "ModSecurity"),
        ("mod_wsgi-py3.11.so", "mod_wsgi"),
        ("mod_shib_24.so", "Shibboleth"),
        ("mod_shib", "Shibboleth"),
        ("mod_rpaf-2.0.c", "mod_rpaf"),
        ("modules/libphp4.so", "PHP 3 and 4"),
        ("libphp7.4.so", "PHP"),
        ("mod_auth_pgsql.so", "mod_auth_mysql"),
    ],
)
def test_a_module_is_found_by_each_of_its_names(name: str, product: str) -> None:
    found = product_of(name)
    assert found is not None and found.name == product


@pytest.mark.parametrize("name", ["mod_ssl.so", "ssl_module", "mod_of_our_own.so", "", "mod_"])
def test_other_modules_are_unknown(name: str) -> None:
    assert find_module(name) is None


@pytest.mark.parametrize(
    ("file", "key"),
    [
        ("libphp5", "libphp5"),
        ("libphp7.4", "libphp7"),
        ("libphp8.2", "libphp"),
        ("libphp", "libphp"),
        ("mod_fcgid", "mod_fcgid"),
        ("libphp4", None),
        ("mod_security2", None),
    ],
)
def test_files_of_built_in_modules(file: str, key: str | None) -> None:
    module = module_of_file(file)
    assert (None if module is None else module.file) == key
    entry = catalogue("2.4").module_of_file(file)
    assert (None if entry is None else entry.file) == key


@pytest.mark.parametrize(
    ("directive", "product"),
    [
        ("SecRuleEngine", "ModSecurity"),
        ("secruleengine", "ModSecurity"),
        ("SecureLinks", "mod_hostinglimits"),
        ("<Perl", "mod_perl"),
        ("PerlModule", "mod_perl"),
        ("DenyAllButCloudFlare", "mod_cloudflare"),
        ("CrowdAppName", "Crowd"),
    ],
)
def test_a_directive_is_found_without_its_module(directive: str, product: str) -> None:
    found = product_of_directive(directive)
    assert found is not None and found.name == product


def test_a_directive_of_nobody_is_unknown() -> None:
    assert product_of_directive("Misspelled") is None


@pytest.mark.parametrize("version", ["2.2", "2.4"])
def test_handlers_of_other_modules_are_those_of_the_table(version: str) -> None:
    """handlers.tsv names the modules by file; the table has the same handlers for them."""
    known = {row.file for row in catalogue(version).modules} | {
        row.file for row in catalogue("2.4" if version == "2.2" else "2.2").modules
    }
    for handler, files in handler_table(version).items():
        for file in files:
            if file not in known and file not in ("mod_isapi", "mod_example", "mod_example_hooks"):
                product = product_of(file)
                assert product is not None, file
                assert handler in product.handlers, (handler, file)
