"""Names of groups, as wsgi_process_group, wsgi_application_group and wsgi_callable_object form them."""

from __future__ import annotations

import pytest

from whimbrel.modules.wsgi.mod_wsgi.groups import callable_name, group_name, script_group


@pytest.mark.parametrize(
    ("text", "name"), [("site", "site"), ("%{GLOBAL}", ""), ("%{OTHER}", "%{OTHER}"), ("%{ENV:", "%{ENV:")]
)
def test_constant_names(text: str, name: str) -> None:
    assert group_name(text, "default") == name


def test_defaults() -> None:
    assert group_name(None, "") == ""
    assert callable(group_name(None, "%{RESOURCE}"))
    assert callable_name(None) == "application"
    assert callable_name("%{GLOBAL}") == "application"
    assert callable_name("other") == "other"
    assert script_group(None) == ""
    # access scripts know neither of these forms
    assert script_group("%{RESOURCE}") == "%{RESOURCE}"
    assert script_group("%{ENV:A}") == "%{ENV:A}"
