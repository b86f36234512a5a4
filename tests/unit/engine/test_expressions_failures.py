"""Expressions without a value for a request: each place that takes one answers and logs as httpd 2.4.71."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.support.access_site import MODULES, AccessSite

MORE = " alias headers setenvif rewrite authz_groupfile filter"
BAD = "%{file:/nonexistent}"
TEST = f"{BAD} == 'a'"
BASIC = "AuthType Basic\nAuthName a\nAuthUserFile conf/users\nAuthGroupFile conf/groups\n"
REASON = "Evaluation of expression from "

# lines, status, codes in their order, the module that logs the reason
PLACES = {
    "Redirect": (f'Redirect "http://a/{BAD}"', 500, ["AH02826"], "alias"),
    "Alias": (f'Alias "/x/{BAD}"', 301, ["AH02825"], "alias"),
    "ErrorDocument": (
        f'Require all denied\nErrorDocument 403 "/e{BAD}"',
        403,
        ["AH01630", "AH02841", "AH02841"],
        "core",
    ),
    "If": (f'<If "{TEST}">\nHeader set X-A 1\n</If>', 200, ["AH00039"] * 3, "core"),
    "Header, value": (f'Header set X-A "expr={BAD}"', 200, ["AH02557"], "headers"),
    "Header, condition": (f'Header set X-A 1 "expr={TEST}"', 200, ["AH01501"], "headers"),
    "SetHandler": (f'SetHandler "{BAD}"', 500, ["AH03154"], "core"),
    "Require user": (f"{BASIC}Require user {BAD}", 401, ["AH02594", "AH01631"], "authz_user"),
    "Require group": (f"{BASIC}Require group {BAD}", 401, ["AH02592", "AH01631"], "authz_groupfile"),
    "Require host": (f"Require host {BAD}", 403, ["AH02593", "AH01630"], "authz_host"),
    "Require forward-dns": (f"Require forward-dns {BAD}", 403, ["AH03354", "AH01630"], "authz_host"),
    "Require expr": (f'Require expr "{TEST}"', 500, ["AH02320"], "authz_core"),
    "AuthName": (
        BASIC.replace(" a\n", f' "{BAD}"\n') + "Require valid-user",
        500,
        ["AH02835", "AH01615"],
        "authn_core",
    ),
    "SetEnvIfExpr": (f'SetEnvIfExpr "{TEST}" K=1\nHeader set X-A "%{{K}}e"', 200, [], "setenvif"),
    "RewriteCond": (f'RewriteEngine On\nRewriteCond expr "{TEST}"\nRewriteRule . - [G]', 200, [], "rewrite"),
    "FilterProvider": (
        f'FilterDeclare f\nFilterProvider f ERR "{TEST}"\nFilterChain f',
        200,
        ["AH01379"],
        "filter",
    ),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_failing_expression(tmp_path: Path, place: str) -> None:
    lines, status, codes, module = PLACES[place]
    conf = f"<Location /f.html>\n{lines}\n</Location>\n".replace("ERR", "INCLUDES")
    site = AccessSite(tmp_path, conf, modules=f"{MODULES['2.4']} {MORE} include")
    answer = site.fetch(user="alice:wonder")
    text = site._log_text()
    assert (int(answer.split(" ", 2)[1]), re.findall(r"AH\d{5}", text)) == (status, codes)
    (reason,) = [line for line in text.splitlines() if REASON in line and "failed: " in line][:1]
    assert f"[{module}:error]" in reason and reason.endswith("failed: Cannot open file /nonexistent")
