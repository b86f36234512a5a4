"""The sentence about who gains or loses access says no more than what was looked at."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.upgrade.access_texts import MODULES, USER, text_after
from tests.unit.upgrade.config_trees import config_tree, fragments

from whimbrel.access.decision import AccessVerdict
from whimbrel.config.model import SectionKind
from whimbrel.upgrade.access_control.admission import AS_SHOWN, UNCHANGED, admitted, reason_in
from whimbrel.upgrade.access_control.analysis import analyze_access
from whimbrel.upgrade.access_control.replacement import Replacement
from whimbrel.upgrade.access_control.staying_lines import LOADED
from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.rules import rules_of

GUARD = '<Files ~ "^\\.ht">\nOrder allow,deny\nDeny from all\nSatisfy all\n</Files>\n'
ANY = f"{USER}Require valid-user\nOrder deny,allow\nDeny from all\nAllow from 192.168.\nSatisfy any\n"


def test_a_file_without_its_server(tmp_path: Path) -> None:
    """A <Files> section of the server may decide about the same requests."""
    found = upgrade(fragments(tmp_path, {".htaccess": ANY})).findings
    assert [(one.advice, one.unless) for one in found if one.rule == "C17"] == [(AS_SHOWN, LOADED)]


def test_what_2_4_refuses_with_every_module_depends_on_none(tmp_path: Path) -> None:
    text = f"AuthzUserAuthoritative On\n{ANY}"
    found = upgrade(fragments(tmp_path, {".htaccess": text})).findings
    assert [one.unless for one in found if one.rule == "C17"] == [""]


def test_a_section_that_decides_otherwise_together_with_another(tmp_path: Path) -> None:
    """Below both sections 2.2 admits 192.168.0.0/16 and every user; no text for the <Location> was found."""
    head = f"{MODULES}{GUARD}<Location /server-status>\nOrder deny,allow\nDeny from all\n"
    host = f"<Directory ROOT/htdocs>\nAllowOverride AuthConfig\n{ANY}</Directory>\n</VirtualHost>\n"
    text = (
        f"{head}Allow from 127.0.0.1\n</Location>\n<VirtualHost *:80>\nServerName x.example\n"
        f"DocumentRoot ROOT/htdocs\n{host}"
    )
    files: dict[str, str | bytes] = {"conf/httpd.conf": text, "htdocs/.htaccess": "Require user a\n"}
    found = upgrade(config_tree(tmp_path, files), rules_of("access")).findings
    (open_one,) = [one for one in found if "May 2.4 decide so" in one.decision]
    (outer,) = [one for one in found if one.advice.startswith("do nothing in this section alone")]
    assert f"; together with conf/httpd.conf:{open_one.place.line} 2.4" in outer.advice
    assert outer.place.line == text.splitlines().index("<Directory ROOT/htdocs>") + 1


def test_a_back_end_meets_the_proxy_section_and_the_locations_of_its_url(tmp_path: Path) -> None:
    """httpd, request.c and mod_proxy.c: a <Location> is merged behind the <Proxy> sections of the request.

    2.2 admits every client, by the Order of the <Location>.
    """
    lists = "Order deny,allow\nDeny from all\nAllow from 10\n"
    text = f"<Proxy *>\n{lists}</Proxy>\n<Location />\nOrder allow,deny\nAllow from all\n</Location>\n"
    conf = f"{MODULES}{text}ProxyPass /a http://127.0.0.1:9/a\n"
    made = analyze_access(config_tree(tmp_path, {"conf/httpd.conf": conf}))
    (chain,) = [chain for chain in made.decisions.chains if chain.url == "/a"]
    assert [section.is_proxy for section in chain.sections] == [True, False]
    before = made.decisions.before_22(chain)
    assert before is not None and before.when[AccessVerdict.GRANTED] == made.decisions.cache.space.true
    assert not made.decisions.differs(chain, made.variant_forms)[0]


PROXIED = f"""{MODULES}ProxyPass /erp http://127.0.0.1:9/erp
RULES
<Location /erp>
{USER}Require user alice
</Location>
<Location /erp/open>
Order deny,allow
</Location>
<Directory ROOT/htdocs>
{ANY}</Directory>
"""


@pytest.mark.parametrize(
    ("rules", "is_served_here"),
    [
        ("", False),
        ("RewriteRule ^/other /a.txt", False),
        ("RewriteRule ^/erp/(.*)$ https://a.example/$1 [R=301]", False),
        ("RewriteRule ^/erp - [E=a:b]", False),
        ("RewriteRule ^/erp/(.*)$ http://a.example/$1", True),
        ("RewriteRule ^/ERP/(.*)$ /a.txt [NC]", True),
        ("RewriteRule !^/x /a.txt", True),
        ("ProxyPass /erp/open !", True),
    ],
)
def test_no_section_of_a_directory_meets_a_request_to_a_back_end(
    tmp_path: Path, rules: str, is_served_here: bool
) -> None:
    """apache2: a client gets 401 at /erp, whatever Satisfy Any of the <Directory> admits. A rule of rewriting
    that leads to a file comes before ProxyPass (mod_rewrite's hook runs before that of mod_proxy); it makes
    a path of a URL of the server itself.
    """
    load = "LoadModule rewrite_module modules/mod_rewrite.so\nRewriteEngine On\n"
    text = load + PROXIED.replace("RULES", rules)
    made = analyze_access(config_tree(tmp_path, {"conf/httpd.conf": text}))
    below = [chain for chain in made.decisions.chains if chain.url.startswith("/erp")]
    patterns = [[section.pattern for section in chain.sections] for chain in below]
    assert ["/erp"] in patterns and ["/erp", "/erp/open"] in patterns
    assert any("htdocs" in pattern for found in patterns for pattern in found) is is_served_here


def test_files_that_a_later_section_refuses_are_not_said_to_be_decided_as_before(tmp_path: Path) -> None:
    """2.2 admits 192.168.0.0/16 to all files below the <Location>; upgrade is told to keep Order lines."""
    text = (
        f"{MODULES}{GUARD}<Location /n>\nOrder deny,allow\nDeny from all\nAllow from 192.168\n</Location>\n"
    )
    tree = config_tree(tmp_path, {"conf/httpd.conf": text, "htdocs/n/a": ""})
    made = analyze_access(tree)
    location = next(section for section in made.plans if section.pattern == "/n")
    guard = next(section for section in made.plans if section.kind is SectionKind.FILES)
    # httpd, request.c: the Order of a <Location> replaces that of a <Files> section, in 2.2 the only lists
    line = text.split("\n").index("<Location /n>") + 1
    said = admitted(tree, made, guard, has_others=False)
    admits = f"conf/httpd.conf:{line} admits clients to these files below it"
    example = "such as /n/.ht: GET from 192.168.0.1 without a password"
    assert said == f"{UNCHANGED}: {admits}, {example}, in 2.2 as in 2.4"
    (chain,) = [one for one in made.decisions.chains if one.sections == (guard, location)]
    refused = Replacement(
        made.decisions.lines[location]
    )  # Order stays: Require of the <Files> section decides
    differs, example = made.decisions.differs(chain, {**made.variant_forms, location: refused})
    assert differs and example is not None and example.after is AccessVerdict.FORBIDDEN
    made.plans[location].possible.append((chain, example))
    tree.cache.pop("access control differs together")
    assert admitted(tree, made, guard, has_others=False).startswith(f"{UNCHANGED} by this section alone")


def test_each_section_that_opens_the_files_is_named_and_none_below_a_script(tmp_path: Path) -> None:
    """apache2 with mod_access_compat answers 200 for /a/.htx and /b/.htx; /run/x.cgi/.htx is a path of the
    script x.cgi, whose name the <Files> section does not match."""
    lists = "Order deny,allow\nDeny from all\nAllow from 192.168\n"
    urls = ("/run/x.cgi", "/a", "/b")
    text = f"{MODULES}{GUARD}" + "".join(f"<Location {url}>\n{lists}</Location>\n" for url in urls)
    files: dict[str, str | bytes] = {"conf/httpd.conf": text, "htdocs/a/x": "", "htdocs/b/x": ""}
    tree = config_tree(tmp_path, {**files, "htdocs/run/x.cgi": ""})
    made = analyze_access(tree)
    guard = next(section for section in made.plans if section.kind is SectionKind.FILES)
    lines = [text.split("\n").index(f"<Location {url}>") + 1 for url in urls[1:]]
    places = ", ".join(f"conf/httpd.conf:{line}" for line in lines)
    said = admitted(tree, made, guard, has_others=False)
    assert said.startswith(f"{UNCHANGED}: {places} admit clients to these files below them, such as /a/.ht: ")


def test_users_who_log_in_read_refused_files_where_satisfy_any_holds(tmp_path: Path) -> None:
    """Manual of 2.2, Satisfy: with Any either the lists or a login admits; the lists of the <FilesMatch>
    refuse every client. A page of a handler has no files, so its <Location> admits to none."""
    page = (
        "<Location /server-status>\nSetHandler server-status\nOrder deny,allow\nAllow from all\n</Location>\n"
    )
    closed = '<FilesMatch "\\.inc$">\nOrder allow,deny\nDeny from all\n</FilesMatch>\n'
    text = f"{MODULES}{page}{closed}<Directory ROOT/htdocs/a>\n{ANY}</Directory>\n"
    tree = config_tree(tmp_path, {"conf/httpd.conf": text, "htdocs/a/x.inc": ""})
    line = (tmp_path / "conf/httpd.conf").read_text().split("\n").index("Satisfy any") + 1
    made = analyze_access(tree)
    (files,) = [one for one in made.plans if one.kind is SectionKind.FILES_MATCH]
    assert admitted(tree, made, files, has_others=False) == (
        f"{UNCHANGED}: users who log in read these files where Satisfy Any holds (conf/httpd.conf:{line}), "
        "in 2.2 as in 2.4"
    )
    alone = config_tree(tmp_path / "alone", {"conf/httpd.conf": f"{MODULES}{page}{closed}"})
    made = analyze_access(alone)
    (files,) = [one for one in made.plans if one.kind is SectionKind.FILES_MATCH]
    assert admitted(alone, made, files, has_others=False) == UNCHANGED


def test_the_reason_behind_the_sentence() -> None:
    assert (
        reason_in(f"{AS_SHOWN}: <Limit GET> at line 3 never decided") == "<Limit GET> at line 3 never decided"
    )
    assert reason_in("write it: by hand") == reason_in(UNCHANGED) == ""


def test_methods_keep_their_order_and_are_named_once(tmp_path: Path) -> None:
    lists = "Order deny,allow\nDeny from all\n"
    conf = f"<Location /n>\n<LimitExcept GET POST HEAD OPTIONS>\n{lists}</LimitExcept>\n</Location>\n"
    assert "<LimitExcept GET POST HEAD OPTIONS>\n" in text_after(tmp_path, conf)
