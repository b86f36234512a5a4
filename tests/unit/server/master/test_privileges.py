"""User and Group in their numeric forms."""

from __future__ import annotations

import os

import pytest

from whimbrel.config.model import ServerSpec
from whimbrel.server.master import privileges


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
@pytest.mark.parametrize(
    ("user", "group", "line"),
    [
        (
            "#-1",
            "#33",
            ": AH02155: getpwuid: couldn't determine user name from uid 4294967295, you probably need to "
            "modify the User directive",
        ),
        (
            "www-data",
            "#-1",
            "(22)Invalid argument: AH02156: setgid: unable to set group id to Group 4294967295",
        ),
        (
            "www-data",
            "#4294967295",
            "(22)Invalid argument: AH02156: setgid: unable to set group id to Group 4294967295",
        ),
    ],
)
def test_messages_show_unsigned_numbers(user: str, group: str, line: str) -> None:
    """Recorded from apache2 2.4.71; None of these calls changes an ID."""
    spec = ServerSpec.__new__(ServerSpec)
    spec.user, spec.group, spec.chroot = user, group, ""
    with pytest.raises(privileges.DropError) as error:
        privileges.drop(spec)
    assert f"{error.value.cause}: {error.value.code}: {error.value.text}" == line
