"""The fields that setters name: every value of the core that verify compares has one."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.unit.verify.sites import make_root, side

from whimbrel.config.core_config import CoreDirConfig, CoreServerConfig
from whimbrel.registry.settings import field_names
from whimbrel.verify.coverage.setter_fields import names_in


def _store(conf: SimpleNamespace, name: str) -> None:
    setattr(conf, name, 1)


def _inner(conf: SimpleNamespace) -> None:
    conf.limit = 1


def _outer(conf: SimpleNamespace) -> None:
    _inner(conf)


def test_attributes_arguments_closures_and_helpers_are_found() -> None:
    field = "closed"
    assert "limit" in names_in(_inner)
    assert "limit" in names_in(_outer)
    assert "given" in names_in(partial(_store, name="given"))
    assert "closed" in names_in(lambda conf: setattr(conf, field, 1))
    assert "limit" not in names_in(_store)


@pytest.mark.parametrize(
    "name",
    "KeepAlive KeepAliveTimeout MaxKeepAliveRequests Timeout LimitRequestBody LimitRequestLine AcceptPathInfo"
    " LimitRequestFields LimitRequestFieldSize UseCanonicalName ServerTokens ServerSignature TraceEnable"
    " FileETag Options AllowOverride HostnameLookups AllowEncodedSlashes ContentDigest ErrorDocument".split(),
)
def test_setters_of_the_core_name_their_fields(tmp_path: Path, name: str) -> None:
    make_root(tmp_path)
    fields = {*field_names(CoreDirConfig), *field_names(CoreServerConfig)}
    modules = side(tmp_path, "a", "", "2.4").loaded.modules
    for row in modules.rows(name.lower()):
        assert names_in(row.apply) & fields, row.name
