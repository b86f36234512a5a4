"""Checks of passwords whose hashes another person chose: they end."""

from __future__ import annotations

import time

import bcrypt
import pytest

from whimbrel.modules.support.auth.passwords import verify
from whimbrel.verify import password_checks
from whimbrel.verify.password_checks import PasswordChecks
from whimbrel.verify.probe import RIGHT_PASSWORD, WRONG_PASSWORD

_ENDLESS = "$2y$31$abcdefghijklmnopqrstuuKX1b0Qm3vH1mZ5o1bqXnJc8aXJ7D1fm"
"""Two thousand million rounds: more than a day."""


def test_right_and_wrong_passwords() -> None:
    checks = PasswordChecks()
    stored = bcrypt.hashpw(b"secret", bcrypt.gensalt(4)).decode()
    assert checks.is_right(verify, "secret", stored) is True
    assert checks.is_right(verify, "other", stored) is False
    assert checks.is_right(verify, "secret", stored) is True
    assert checks.unfinished == set()


def test_a_check_without_an_end_is_not_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    """It costs its limit once; after some of them no other is begun."""
    monkeypatch.setattr(password_checks, "MAX_SECONDS", 1)
    monkeypatch.setattr(password_checks, "MAX_UNFINISHED", 1)
    checks = PasswordChecks()
    began = time.monotonic()
    assert checks.is_right(verify, "secret", _ENDLESS) is None
    assert checks.unfinished == {_ENDLESS}
    took = time.monotonic() - began
    for stored in (_ENDLESS, _ENDLESS.replace("a", "b"), "$6$rounds=999999999$salt$abc"):
        assert checks.is_right(verify, "secret", stored) is None
    assert time.monotonic() - began < took + 0.5
    assert checks.unfinished == {_ENDLESS}


@pytest.mark.parametrize("password", [RIGHT_PASSWORD, WRONG_PASSWORD])
def test_the_passwords_of_probes_are_not_checked(password: str) -> None:
    checks = PasswordChecks()
    assert checks.is_right(verify, password, _ENDLESS) is False
    assert checks.unfinished == set()
