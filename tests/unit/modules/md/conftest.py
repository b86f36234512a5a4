"""Tests of managed domains are quick: account keys of RSA take a second each."""

from __future__ import annotations

import pytest
from tests.support.managed_domains import EC

from whimbrel.modules.md.mod_md import accounts


@pytest.fixture(autouse=True)
def quick_account_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accounts, "_SPEC", EC)
