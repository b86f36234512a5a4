"""Hosts of VirtualDocumentRoot. Expected: mod_vhost_alias's manual: %1 is the first part of the name of the
request, %-2 the last but one, %1.2 a letter; a request is one of the host whose name or alias it has."""

from __future__ import annotations

import pytest

from whimbrel.verify.derive.mass_hosts import _host_of


@pytest.mark.parametrize(
    ("segments", "path", "names", "host"),
    [
        (["%1"], "/vh/musik", ["ve.example", "*.ve.example"], "musik.ve.example"),
        (["%1"], "/vh/musik", ["*.VE.example"], "musik.ve.example"),
        (["%2"], "/vh/ve", ["*.ve.example"], "host.ve.example"),
        (["%2"], "/vh/musik", ["*.ve.example"], ""),
        (["%-2"], "/vh/sport", ["www.*.example", "?.*.example"], "www.sport.example"),
        (["%2.1", "%2"], "/vh/s/sport", ["www.*.example"], "www.sport.example"),
        (["%1"], "/vh/musik", ["w?.ve.example"], ""),
        (["%1"], "/vh/musik", ["musik.ve.example"], "musik.ve.example"),
        (["%1"], "/vh/musik", ["ve.example"], "musik.host.host"),  # a default host has every name
        (["%1"], "/vh/musik", [""], "musik.host.host"),
        (["%3"], "/vh/musik", ["*.ve"], ""),
    ],
)
def test_a_host_has_a_name_of_its_server(segments: list[str], path: str, names: list[str], host: str) -> None:
    assert _host_of(segments, path, names) == host
