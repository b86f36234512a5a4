"""R01 writes flags of RewriteRule only where the release of the target knows them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.upgrade.config_trees import config_tree

from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.model import UpgradeOptions

TEXT = (
    "LoadModule rewrite_module modules/mod_rewrite.so\nRewriteEngine On\n"
    "RewriteRule ^/(.*)$ /index.php?q=$1 [L,QSA]\n"
)


# the manual of mod_rewrite: BCTLS is of 2.4.57; 2.4.56 refuses an unknown flag at its start
@pytest.mark.parametrize(("target", "is_written"), [(56, False), (57, True), (71, True)])
def test_flags_that_the_target_lacks_are_said_and_not_written(
    tmp_path: Path, target: int, is_written: bool
) -> None:
    tree = config_tree(tmp_path, {"conf/httpd.conf": TEXT}, options=UpgradeOptions(target=target))
    result = upgrade(tree)
    (finding,) = [finding for finding in result.findings if finding.rule == "R01"]
    assert any(b"BCTLS" in data for data in result.files.values()) is is_written
    assert ("2.4.56 does not know BCTLS, BNP" in finding.advice) is not is_written
    assert ("add BCTLS, BNP" in finding.advice) is is_written
    assert "2.4.57" in finding.advice


@pytest.mark.parametrize("flags", ["]", "L]", "[L"])
def test_nothing_is_added_to_flags_without_their_brackets(tmp_path: Path, flags: str) -> None:
    """httpd ends its start with "bad flag delimiters"; each pass of an upgrade would add more."""
    text = TEXT.replace("[L,QSA]", flags)
    result = upgrade(config_tree(tmp_path, {"conf/httpd.conf": text}))
    assert not any(b"BCTLS" in data for data in result.files.values())


MAP = (
    "LoadModule rewrite_module modules/mod_rewrite.so\nRewriteEngine On\n"
    "RewriteMap m KIND:ROOT/map.txt\nRewriteMap low int:tolower\n"
    "RewriteRule ^/r/([a-z]+)/?$ /z/${m:${low:$1}|no}/ [R=302,L]\n"
)


@pytest.mark.parametrize(
    ("kind", "entries", "cause"),
    [
        # apache2 2.4.71: /r/a is 403 (AH10508) with the first entry, 302 with the second; /r/a%3f is 404
        ("txt", "a x?y=1\n", "by a value of the map m"),
        ("txt", "a plain\n", ""),
        ("rnd", "a x|y?z\n", "by a value of the map m"),
        ("txt", None, "by a value of the map m, which was not read"),
        ("prg", "a plain\n", "by a value of the map m, which was not read"),
    ],
)
def test_a_question_mark_of_a_map_is_not_one_of_the_request(
    tmp_path: Path, kind: str, entries: str | None, cause: str
) -> None:
    files: dict[str, str | bytes] = {"conf/httpd.conf": MAP.replace("KIND", kind)}
    if entries is not None:
        files["map.txt"] = entries
    found = [one for one in upgrade(config_tree(tmp_path, files)).findings if one.rule == "R01"]
    assert [cause in one.message and "%3f" not in one.message for one in found] == [True] * bool(cause)
