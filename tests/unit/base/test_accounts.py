"""Accounts of this machine, and of one without any."""

from __future__ import annotations

import os

import pytest

from whimbrel.base import accounts
from whimbrel.config.mpm_config import group_id, user_id


def test_the_accounts_of_this_machine() -> None:
    root = accounts.user_named("root")
    assert (root.pw_uid, accounts.user_numbered(0)) == (0, root)
    assert accounts.group_named(accounts.group_numbered(0).gr_name).gr_gid == 0
    assert root in accounts.all_users()
    assert (accounts.effective_user(), accounts.effective_group()) == (os.geteuid(), os.getegid())


def test_a_system_without_accounts_knows_no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accounts, "HAS_ACCOUNTS", False)
    for call in (accounts.user_named, accounts.group_named):
        with pytest.raises(KeyError):
            call("root")
    for look in (accounts.user_numbered, accounts.group_numbered):
        with pytest.raises(KeyError):
            look(0)
    assert accounts.all_users() == []
    assert (accounts.effective_user(), accounts.effective_group()) == (0, 0)
    assert (user_id("root"), user_id("#7"), group_id("root"), group_id("#7")) == (None, 7, None, 7)
