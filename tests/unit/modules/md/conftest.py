"""Tests of managed domains are quick: account keys of RSA take a second each."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def quick_account_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let accounts have keys of elliptic curves."""
    pytest.importorskip("cryptography", reason="the optional package cryptography is not installed")
    from tests.support.managed_domains import EC

    from whimbrel.modules.md.mod_md import accounts

    monkeypatch.setattr(accounts, "_SPEC", EC)
