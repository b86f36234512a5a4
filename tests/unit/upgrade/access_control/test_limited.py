"""X20: access control by method, and the second evaluation of 2.2 for the index of a directory."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.upgrade.access_texts import MODULES, USER
from tests.unit.upgrade.config_trees import config_tree

from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.model import Finding
from whimbrel.upgrade.rules import rules_of

SERVER = "DocumentRoot ROOT/h\n<Directory ROOT/h>\nAllowOverride All\n</Directory>\n"
LOCATION = f"<Location />\n{USER}Require user alice\n</Location>\n"


def findings(root: Path, conf: str, htaccess: str) -> list[Finding]:
    """The findings of X20 that need review."""
    files: dict[str, str | bytes] = {
        "conf/httpd.conf": MODULES + SERVER + conf,
        "h/.htaccess": htaccess,
        "h/index.html": "",
    }
    result = upgrade(config_tree(root, files), rules_of("access"))
    return [finding for finding in result.needs_review if finding.rule == "X20"]


@pytest.mark.parametrize(
    "htaccess",
    [
        "<Limit POST>\nSatisfy any\n</Limit>\n",
        "<Limit GET>\nOrder deny,allow\nDeny from all\n</Limit>\n",
        "<LimitExcept POST OPTIONS>\nOrder allow,deny\nAllow from 192.0.2.1\n</LimitExcept>\n",
    ],
)
def test_a_file_that_refuses_get_alone_below_a_location_needs_review(tmp_path: Path, htaccess: str) -> None:
    """2.2 answers 401 or 403 to a POST for the directory, as to a GET; 2.4 admits the POST."""
    (finding, *_) = findings(tmp_path, LOCATION, htaccess)
    assert "2.2 refuses the index of a directory, 2.4 admits it" in finding.evidence


def test_a_location_without_access_control_is_evaluated_again_too(tmp_path: Path) -> None:
    limit = f"{USER}<Limit GET>\nRequire valid-user\n</Limit>\n"
    assert findings(tmp_path, "<Location />\nDefaultType text/plain\n</Location>\n", limit)
    assert not findings(tmp_path, "<Location /other>\nDefaultType text/plain\n</Location>\n", limit)


@pytest.mark.parametrize(
    ("listen", "is_admitted"), [("Listen 80\n", False), ("Listen 80\nListen 81\n", True)]
)
def test_a_main_server_without_requests_admits_nobody(tmp_path: Path, listen: str, is_admitted: bool) -> None:
    """The <Location> of the virtual host refuses a POST too; the main server has the port 81 alone."""
    limit = f"{USER}<Limit GET>\nRequire user alice\n</Limit>\n"
    host = f"NameVirtualHost *:80\n<VirtualHost *:80>\nServerName a.test\n{LOCATION}</VirtualHost>\n"
    plain = "<Location />\nDefaultType text/plain\n</Location>\n"
    assert bool(findings(tmp_path, listen + plain + host, limit)) is is_admitted


def test_lines_that_refuse_no_more_to_get_need_no_review(tmp_path: Path) -> None:
    limit = "<LimitExcept GET POST>\nOrder deny,allow\nDeny from all\n</LimitExcept>\n"
    assert not findings(tmp_path, LOCATION, limit)


def test_branches_are_judged_under_each_value_of_their_conditions(tmp_path: Path) -> None:
    """Without -D X, 2.2 answers 401 to a POST for the directory; with it, both versions admit all clients."""
    limit = f"{USER}<Limit GET>\nRequire valid-user\n</Limit>\n"
    assert findings(tmp_path, f"<Location />\n{OPENED}</Location>\n", limit)


OPENED = "<IfDefine X>\nOrder allow,deny\nAllow from all\nSatisfy any\n</IfDefine>\n"


def test_methods_that_are_open_to_all_are_named(tmp_path: Path) -> None:
    """apache2 2.4.71 answers 200 to a GET without a password, and 401 to a POST."""
    limit = f"{USER}<LimitExcept GET>\nRequire valid-user\n</LimitExcept>\n"
    conf = f"<Directory ROOT/h/a>\n{limit}</Directory>\n"
    files: dict[str, str | bytes] = {"conf/httpd.conf": MODULES + SERVER + conf, "h/a/x.html": ""}
    result = upgrade(config_tree(tmp_path, files), rules_of("access"))
    (finding,) = (one for one in result.findings if one.rule == "X20")
    assert finding.evidence == "open to every client, without a password: /a/x.html with GET"
