"""Jobs: their log and its bound, notifications."""

from __future__ import annotations

from whimbrel.modules.md.mod_md.job import MAX_LOG, Job, from_json

NOW = 1_800_000_000.0


def test_the_log_has_a_bound() -> None:
    work = Job("a.test")
    for number in range(10 * MAX_LOG):
        work.log(NOW + number, "progress", "", f"{number}")
    assert len(work.entries) == MAX_LOG and work.entries[0]["detail"] == f"{10 * MAX_LOG - 1}"
    record = work.to_json()
    record["log"]["entries"] *= 3
    assert len(from_json("a.test", record).entries) == MAX_LOG


def test_notifications_of_a_kind_are_rare() -> None:
    work = Job("a.test")
    assert work.may_notify("errored", NOW)
    work.log(NOW, "message-errored")
    assert not work.may_notify("errored", NOW + 3599) and work.may_notify("errored", NOW + 3600)
    assert work.may_notify("renewed", NOW) and work.may_notify("challenge-setup:http-01:a.test", NOW)
