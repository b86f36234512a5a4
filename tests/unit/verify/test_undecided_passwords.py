"""A stored password whose check does not end makes the comparison undecided, and its line is named."""

from __future__ import annotations

from pathlib import Path

from tests.unit.verify.sites import make_root, side

from whimbrel.verify.verification import Verdict
from whimbrel.verify.verify import verify

ENDLESS = "$2y$31$abcdefghijklmnopqrstuuKX1b0Qm3vH1mZ5o1bqXnJc8aXJ7D1fm"
CARRIED = "Y2Fyb2w6c2VjcmV0"  # carol:secret
TEXT = f"""RequestHeader set Authorization "Basic {CARRIED}" early
<Location /private>
AuthType Basic
AuthName x
AuthUserFile conf/users
Require valid-user
</Location>
"""


def test_the_line_of_the_password_file_is_named(tmp_path: Path) -> None:
    make_root(tmp_path, {"conf/users": f"alice:{{SHA}}x\ncarol:{ENDLESS}\n"})
    result = verify(side(tmp_path, "old", TEXT, "2.4"), side(tmp_path, "new", TEXT, "2.4"))
    assert result.verdict is Verdict.NOT_DECIDED
    (item,) = {item for item in result.scope.items if "takes more than" in item.subject}
    assert item.place is not None
    assert (item.place.path, item.place.line) == (str(tmp_path / "conf/users"), 2)
    assert item.subject == "the stored password of carol takes more than 2 s to check"


def test_passwords_that_no_answer_depends_on_are_not_named(tmp_path: Path) -> None:
    make_root(tmp_path, {"conf/users": f"carol:{ENDLESS}\n"})
    text = TEXT.partition("\n")[2]
    result = verify(side(tmp_path, "old", text, "2.4"), side(tmp_path, "new", text, "2.4"))
    assert result.verdict is Verdict.SAME
