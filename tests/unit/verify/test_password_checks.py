"""Checks of passwords whose hashes another person chose: they end."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from unittest.mock import create_autospec

import bcrypt
import pytest

from whimbrel.modules.support.auth.passwords import verify
from whimbrel.verify.password_checks import PasswordChecks
from whimbrel.verify.probe import RIGHT_PASSWORD, WRONG_PASSWORD

_ENDLESS = "$2y$31$abcdefghijklmnopqrstuuKX1b0Qm3vH1mZ5o1bqXnJc8aXJ7D1fm"
"""Two thousand million rounds: more than a day."""


_LONG = "$2y$13$abcdefghijklmnopqrstuuKX1b0Qm3vH1mZ5o1bqXnJc8aXJ7D1fm"
"""A cost that needs a process of its own, and ends."""
_UNTHREADED = f"""
import time
from whimbrel.modules.support.auth.passwords import verify
from whimbrel.verify import password_checks
password_checks.MAX_SECONDS = 1
password_checks.MAX_UNFINISHED = 1
checks = password_checks.PasswordChecks()
print(checks.is_right(verify, "secret", "{_LONG}"), sorted(checks.undecided))
print(checks.is_right(verify, "secret", "{_ENDLESS}"), len(checks.undecided))
began = time.process_time()
for stored in ("{_ENDLESS}", "{_ENDLESS.replace("a", "b")}", "$6$rounds=999999999$salt$abc"):
    print(checks.is_right(verify, "secret", stored), len(checks.undecided))
print(time.process_time() - began < 0.5)
"""


def test_right_and_wrong_passwords() -> None:
    checks = PasswordChecks()
    stored = bcrypt.hashpw(b"secret", bcrypt.gensalt(4)).decode()
    assert checks.is_right(verify, "secret", stored) is True
    assert checks.is_right(verify, "other", stored) is False
    assert checks.is_right(verify, "secret", stored) is True
    assert checks.undecided == set()


def test_a_check_without_an_end_is_not_decided() -> None:
    """It costs its limit once; after some of them no other is begun, and each is named."""
    result = subprocess.run(
        [sys.executable, "-c", _UNTHREADED], capture_output=True, text=True, timeout=60, check=True
    )
    assert result.stdout.split("\n") == ["False []", "None 1", "None 1", "None 2", "None 3", "True", ""]


def test_a_process_with_threads_is_not_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashes with a small cost are checked, others are not decided."""
    forked = create_autospec(os.fork)
    monkeypatch.setattr(os, "fork", forked)
    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    try:
        checks = PasswordChecks()
        for stored in (_LONG, _ENDLESS, "$6$rounds=999999999$salt$abc", "_J9..rasmBYk8r9AiWNc", "$7$x"):
            assert checks.is_right(verify, "secret", stored) is None
            assert stored in checks.undecided
        stored = bcrypt.hashpw(b"secret", bcrypt.gensalt(4)).decode()
        assert checks.is_right(verify, "secret", stored) is True
    finally:
        end.set()
        thread.join()
    assert not forked.called


@pytest.mark.parametrize("password", [RIGHT_PASSWORD, WRONG_PASSWORD])
def test_the_passwords_of_probes_are_not_checked(password: str) -> None:
    checks = PasswordChecks()
    assert checks.is_right(verify, password, _ENDLESS) is False
    assert checks.undecided == set()
