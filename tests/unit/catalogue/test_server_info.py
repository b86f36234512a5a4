"""Orders of hooks as httpd 2.4.71 lists them on the page of mod_info."""

from __future__ import annotations

import pytest

from whimbrel.catalogue import catalogue
from whimbrel.catalogue.server_info import REQUEST, SECTIONS, hooked, providers, table


@pytest.mark.parametrize(
    ("hook", "loaded", "order"),
    [
        ("fixups", "core.c mod_rewrite.c mod_env.c", "core.c mod_rewrite.c mod_env.c mod_rewrite.c"),
        ("fixups", "mod_dir.c mod_alias.c core.c", "core.c mod_alias.c mod_dir.c"),
        ("handler", "core.c mod_asis.c mod_dialup.c", "core.c mod_asis.c mod_dialup.c core.c"),
        # a module that must run first brings others before it, whatever their orders
        ("post_read_request", "mod_log_forensic.c mod_unique_id.c", "mod_unique_id.c mod_log_forensic.c"),
        ("fixups", "nosuch.c", ""),
    ],
)
def test_order(hook: str, loaded: str, order: str) -> None:
    assert [entry.module for entry in hooked(hook, loaded.split())] == order.split()


def test_every_hook_of_the_table_is_shown() -> None:
    shown = {hook for _name, _title, hooks in SECTIONS for _, hook in hooks}
    assert {entry.hook for module in table().values() for entry in module.hooks} <= shown
    assert len({title for title, _ in REQUEST}) == len(REQUEST)


def test_the_modules_are_those_of_the_catalogue() -> None:
    known = {module.source for module in catalogue("2.4").modules}
    assert table().keys() <= known


def test_providers() -> None:
    assert providers(["mod_authn_file.c", "mod_authn_dbm.c", "nosuch.c"]) == {("authn", "0"): {"file", "dbm"}}
