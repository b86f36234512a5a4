"""Identity of merged settings: requests that share them are authorized once.  Expected values are those of
apache2 2.4.71.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.access_site import MODULES, AccessSite

ROOT = '<Directory "@DOCROOT@">\nRequire all granted\n</Directory>\n'


@pytest.mark.parametrize("operator", ["-U", "-A"])
def test_a_url_is_not_looked_up_within_a_subrequest_for_itself(tmp_path: Path, operator: str) -> None:
    inner = f"<If \"{operator} '/f.html'\">\nRequire all denied\n</If>"
    site = AccessSite(tmp_path, f'{ROOT}<Directory "@DOCROOT@">\n{inner}\n</Directory>\n')
    assert site.status() == 403
    assert site.codes() == ["AH01630"]


@pytest.mark.parametrize(("more", "status"), [("", 200), (" allowmethods", 403)])
def test_a_subrequest_with_equal_sections_is_not_authorized_again(
    tmp_path: Path, more: str, status: int
) -> None:
    """The access hook of mod_allowmethods is not declared to depend on the settings alone."""
    conf = (
        '<Directory "@DOCROOT@">\n'
        "Require expr %{IS_SUBREQ} == 'false'\n"
        "<If \"%{IS_SUBREQ} == 'false' && ! -U '/sub/missing'\">\nRequire all denied\n</If>\n"
        "</Directory>\n"
    )
    assert AccessSite(tmp_path, conf, modules=MODULES["2.4"] + more).status() == status
