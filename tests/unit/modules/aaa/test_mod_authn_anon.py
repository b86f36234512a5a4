"""Anonymous users: responses recorded from httpd."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.access_site import MODULES, AccessSite
from tests.support.statuses import ALLOWED, CHALLENGED

AREA = (
    "<Location />\nAuthType Basic\nAuthName Guests\nAuthBasicProvider anon\nRequire "
    "valid-user\n{}</Location>\n"
)


@pytest.mark.parametrize("version", ["2.2", "2.4"])
@pytest.mark.parametrize(
    ("body", "user", "status"),
    [
        ('Anonymous guest "no body"\n', "guest:a@b.c", 200),
        ('Anonymous guest "no body"\n', "GUEST:x", 200),
        ('Anonymous guest "no body"\n', "no body:x", 200),
        ("Anonymous guest\n", "guest:", 401),
        ("Anonymous guest\n", "alice:wonder", 401),
        ("Anonymous guest\nAnonymous_MustGiveEmail Off\n", "guest:", 200),
        ("Anonymous guest\nAnonymous_VerifyEmail On\n", "guest:nomail", 401),
        ("Anonymous guest\nAnonymous_VerifyEmail On\n", "guest:me@x.test", 200),
        ("Anonymous *\n", "whoever:x", 200),
        ("Anonymous guest\nAnonymous_VerifyEmail On\n", "guest:@.", 200),
        ("Anonymous guest\nAnonymous_VerifyEmail On\n", "guest:.x", 401),
        ("Anonymous *\n", ":x", 401),
        ("Anonymous *\nAnonymous_NoUserId On\n", ":x", 200),
        ("Anonymous_NoUserId On\n", ":x", 401),
    ],
)
def test_who_may_enter(tmp_path: Path, version: str, body: str, user: str, status: int) -> None:
    site = AccessSite(tmp_path, AREA.format(body), version, MODULES[version] + " authn_anon")
    assert site.status(user=user) == status


def test_an_inner_section_starts_from_the_defaults(tmp_path: Path) -> None:
    conf = AREA.format("Anonymous guest\n") + "<Location /in>\nAnonymous_MustGiveEmail Off\n</Location>\n"
    site = AccessSite(tmp_path, conf, "2.4", MODULES["2.4"] + " authn_anon")
    assert (site.status(user="guest:x"), site.status("/in/f.html", user="guest:x")) == (ALLOWED, CHALLENGED)
