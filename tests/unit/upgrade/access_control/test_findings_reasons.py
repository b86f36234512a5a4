"""Reasons that findings give for lines of mod_access_compat that stay, and for directives that go."""

from __future__ import annotations

from pathlib import Path

from tests.unit.upgrade.config_trees import config_tree

from whimbrel.upgrade.check.diffs import diffs
from whimbrel.upgrade.check.fixpoint import upgrade

MODULES = "".join(
    f"LoadModule {name}_module modules/mod_{name}.so\n"
    for name in ("authz_host", "auth_basic", "authn_file", "authz_user", "authz_groupfile", "status")
)
TEXT = f"""{MODULES}Listen 80
<Location /server-status>
    Order deny,allow
    Deny from all
    Allow from 127.0.0.1
</Location>
Alias /server-status/x /srv/b
<VirtualHost *:80>
    ServerName a.example
    DocumentRoot /srv/a
    <Directory /srv/a>
        Order deny,allow
        Deny from all
        Allow from 10.0.0.0/8
        AuthType Basic
        AuthName a
        AuthUserFile users
        AuthzUserAuthoritative off
        Require valid-user
        Satisfy All
    </Directory>
</VirtualHost>
<VirtualHost *:80>
    ServerName b.example
    DocumentRoot /srv/b
    <Directory /srv/b>
        Order allow,deny
        Allow from all
    </Directory>
</VirtualHost>
"""
LINES = TEXT.splitlines()


def test_a_finding_names_what_it_removes_and_why_it_keeps_the_rest(tmp_path: Path) -> None:
    """Require in the <Location> would replace the password of the directory, so Order stays there; a part of
    the URLs has another directory, so the section cannot be repeated in the host.
    """
    result = upgrade(config_tree(tmp_path, {"conf/httpd.conf": TEXT}))
    by_line = {one.place.line: one for one in result.findings if one.rule in ("C17", "C20")}
    directory = by_line[LINES.index("    <Directory /srv/a>") + 1]
    location = by_line[LINES.index("<Location /server-status>") + 1]
    assert "AuthzUserAuthoritative is gone: Require lines are alternatives" in directory.message
    text = f"{location.message}\n{location.evidence}"
    assert "stay with mod_access_compat: no Require was found that decides alike together with" in text
    assert f"conf/httpd.conf:{directory.place.line}" in text
    assert "with Require alone: /server-status: " in text and "2.2 lets it in, 2.4 answers 403" in text


def test_a_limit_that_goes_has_its_reason(tmp_path: Path) -> None:
    """2.2 joins both Order blocks, so that Allow wins: apache2 answers a POST with 200 before and after."""
    around = "<Directory /srv/a>\n    Order allow,deny\n    Allow from all\n    {limit}\n</Directory>\n"
    idle = "<Limit POST PUT>\n    Order deny,allow\n    Deny from all\n    </Limit>"
    deciding = "<Limit POST PUT>\n    Order allow,deny\n    Deny from all\n    </Limit>"
    advice = {}
    for limit in (idle, deciding):
        text = f"{MODULES}Listen 80\nDocumentRoot /srv/a\n{around.format(limit=limit)}"
        result = upgrade(config_tree(tmp_path, {"conf/httpd.conf": text}))
        (found,) = [one for one in result.findings if one.rule == "C17" and "/srv" in text and one.edits]
        advice[limit] = found.advice
        line = text[: text.index("<Limit")].count("\n") + 1
    assert advice[idle].endswith(f"<Limit POST PUT> at line {line} never decided: the lines around it do")
    assert "never decided" not in advice[deciding]


LIMITS = """<Limit GET POST OPTIONS>
Order allow,deny
Allow from all
</Limit>
<LimitExcept GET POST OPTIONS>
Order deny,allow
Deny from all
</LimitExcept>
"""


def test_the_methods_of_a_container_keep_their_order_and_one_that_goes_its_reason(tmp_path: Path) -> None:
    """The sections of httpd's own httpd-userdir.conf: what <Limit> admits needs no Require line in 2.4."""
    text = f"{MODULES}Listen 80\nDocumentRoot /srv/a\n<Directory /srv/a>\n{LIMITS}</Directory>\n"
    result = upgrade(config_tree(tmp_path, {"conf/httpd.conf": text}))
    path = f"{tmp_path}/conf/httpd.conf"
    new = result.files[path].decode()
    assert "<LimitExcept GET POST OPTIONS>\n    Require all denied\n</LimitExcept>" in new
    reason = "`<Limit GET POST OPTIONS>` goes: the lines that stay decide about its methods as before"
    heads = [line for line in diffs(result, "")[path].decode().splitlines() if line.startswith("@@")]
    assert any(line.endswith(": " + reason.partition(": ")[0]) for line in heads), heads
    assert any(reason in one.message for one in result.findings if one.rule == "C17")


def test_methods_of_require_keep_their_order_and_the_reason_names_it(tmp_path: Path) -> None:
    users = "AuthType Basic\nAuthName a\nAuthUserFile users\n"
    of_users = "<LimitExcept POST GET>\nRequire valid-user\n</LimitExcept>\n"
    of_hosts = "<Limit POST GET>\nOrder deny,allow\nDeny from all\nAllow from 10.1\n</Limit>\n"
    section = f"<Directory /srv/a>\n{users}{of_users}{of_hosts}</Directory>\n"
    text = f"{MODULES}Listen 80\nDocumentRoot /srv/a\n{section}"
    result = upgrade(config_tree(tmp_path, {"conf/httpd.conf": text}))
    path = f"{tmp_path}/conf/httpd.conf"
    assert "Require method POST GET\n" in result.files[path].decode()
    assert "Require not method POST GET\n" in result.files[path].decode()
    assert "`Require method` has the place of `<LimitExcept POST GET>`, `<Limit" in str(
        diffs(result, "")[path]
    )


def test_a_section_that_is_repeated_says_where_and_why(tmp_path: Path) -> None:
    """The <Location> would admit its clients to the other host without the password of the directory."""
    text = TEXT.replace("Alias /server-status/x /srv/b\n", "")
    (tmp_path / "conf").mkdir()
    result = upgrade(config_tree(tmp_path, {"conf/httpd.conf": text}))
    lines = text.splitlines()
    host = lines.index("<VirtualHost *:80>") + 1
    directory = lines.index("    <Directory /srv/a>") + 1
    reason = (
        f"upgrade repeats `<Location /server-status>` in the virtual host of conf/httpd.conf:{host}, "
        f"with what conf/httpd.conf:{directory} requires: 2.2 admits the same clients there"
    )
    remarks = [one.remark for one in result.findings]
    assert any(reason in text for text in remarks), remarks
    location = lines.index("<Location /server-status>") + 1
    text = diffs(result, str(tmp_path))[f"{tmp_path}/conf/httpd.conf"].decode()
    heads = [line for line in text.splitlines() if line.startswith("@@")]
    assert any(
        f"line {location} is repeated in the virtual host of conf/httpd.conf:{host}" in line for line in heads
    )
    assert max(map(len, heads)) <= 120, heads


def test_a_hunk_with_a_repeated_section_names_where_it_comes_from(tmp_path: Path) -> None:
    """The reader of the other file finds the line; the header stays short however long its tag is."""
    tag = f'<FilesMatch "\\.(inc|{"|".join(f"ending{n}" for n in range(20))})$">'
    denied = f"{tag}\nOrder allow,deny\nDeny from all\n</FilesMatch>\n"
    asked = "AuthType Basic\nAuthName a\nAuthUserFile users\nRequire valid-user\n"
    asked += "Order deny,allow\nDeny from all\nAllow from 10.1\nSatisfy Any\n"
    section = f"<Directory /srv/a/private>\n{asked}</Directory>\n"
    host = f"<VirtualHost *:80>\nDocumentRoot /srv/a\n{section}</VirtualHost>\n"
    main = f"{MODULES}Listen 80\nDocumentRoot /srv/a\n{denied}Include conf/host.conf\n"
    result = upgrade(config_tree(tmp_path, {"conf/httpd.conf": main, "conf/host.conf": host}))
    first = main.splitlines().index(tag) + 1
    texts = diffs(result, str(tmp_path))
    heads = {
        path.rpartition("/")[2]: [line for line in text.decode().splitlines() if line.startswith("@@")]
        for path, text in texts.items()
    }
    assert any(f"line {first} is repeated in conf/host.conf:3" in line for line in heads["httpd.conf"]), heads
    assert any(f": repeats conf/httpd.conf:{first}" in line for line in heads["host.conf"]), heads
    assert max(len(line) for of_file in heads.values() for line in of_file) <= 120


def test_a_directive_that_2_4_has_is_not_called_gone(tmp_path: Path) -> None:
    """With mod_authn_default AuthBasicAuthoritative Off left the answer to it; 2.4 has no such module."""
    user = "AuthType Basic\n    AuthName a\n    AuthUserFile users\n    Require valid-user"
    text = (
        f"{MODULES}LoadModule authn_default_module modules/mod_authn_default.so\nListen 80\n"
        f"<Location /a>\n    AuthBasicAuthoritative Off\n    {user}\n</Location>\n"
    )
    result = upgrade(config_tree(tmp_path, {"conf/httpd.conf": text}))
    (found,) = [one for one in result.findings if one.rule == "C16" and "AuthBasic" in one.message]
    assert found.message.startswith("2.4 has AuthBasicAuthoritative, but no mod_authn_default")
    assert " gone" not in found.message


def test_a_reason_without_room_is_not_cut(tmp_path: Path) -> None:
    """A part of a sentence may say the contrary of it: the heading has the title of the rule then."""
    files = " ".join(f"file{number}" for number in range(30))
    text = (
        f"{MODULES}Listen 80\nDocumentRoot /srv/a\n<Directory /srv/a>\nOrder deny,allow\nAllow from {files}\n"
    )
    result = upgrade(config_tree(tmp_path, {"conf/httpd.conf": f"{text}</Directory>\n"}))
    assert any("had no effect here in 2.2" in one.remark for one in result.findings)
    heads = diffs(result, "")[f"{tmp_path}/conf/httpd.conf"].decode().splitlines()
    assert not [line for line in heads if line.startswith("@@") and ("..." in line or "had no" in line)]


def test_a_file_in_which_require_is_refused_names_the_class_that_admits_it(tmp_path: Path) -> None:
    """2.2 takes the lists of the last section that has some, the <Files> section: it admits everybody there.
    2.4 reads Require in a .htaccess file under AllowOverride AuthConfig alone; with it there is a right text.
    """
    conf = (
        f"{MODULES}SetEnvIf User-Agent x bot\nDocumentRoot ROOT/h\n"
        '<FilesMatch "\\.tpl$">\nOrder allow,deny\nDeny from all\n</FilesMatch>\n'
        "<Directory ROOT/h>\nAllowOverride None\nOrder allow,deny\nAllow from all\nDeny from env=bot\n"
        "</Directory>\n"
        "<Directory ROOT/h/a>\nAllowOverride Limit\n</Directory>\n"
        "<Directory ROOT/h/b>\nAuthType Basic\nAuthName b\nAuthUserFile u\nRequire valid-user\n"
        "Order deny,allow\nDeny from all\nAllow from 10.2\nSatisfy any\n</Directory>\n"
    )
    found = []
    for number, allowed in enumerate(("Limit", "Limit AuthConfig")):
        files: dict[str, str | bytes] = {
            "conf/httpd.conf": conf.replace("AllowOverride Limit", f"AllowOverride {allowed}"),
            "h/a/.htaccess": '<Files "index.tpl">\nOrder allow,deny\nAllow from all\n</Files>\n',
            "h/a/index.tpl": "",
            "h/b/x.tpl": "",
        }
        result = upgrade(config_tree(tmp_path / str(number), files))
        found.append([one for one in result.needs_review if one.place.path.endswith(".htaccess")])
    assert not found[1]
    assert "AllowOverride AuthConfig, and upgrade again" in found[0][0].advice


def test_lines_of_outer_sections_have_their_reason(tmp_path: Path) -> None:
    """2.2 joins Satisfy All of a section with the lists around it: who is not in 10.20 is refused there."""
    conf = (
        f"{MODULES}DocumentRoot ROOT/h\n<Location /svn>\nOrder deny,allow\nDeny from all\nAllow from 10.20\n"
        "AuthType Basic\nAuthName x\nAuthUserFile users\nRequire user alice bob\nSatisfy any\n</Location>\n"
        "<Location /svn/private>\nRequire user alice\nSatisfy all\n</Location>\n"
    )
    result = upgrade(config_tree(tmp_path, {"conf/httpd.conf": conf, "h/x": ""}))
    line = conf.splitlines().index("<Location /svn>") + 1
    (found,) = (one for one in result.findings if one.place.line == line + 10 and one.rule == "C17")
    assert (
        f"`Require ip 10.20` is there for Order, Allow and Deny of conf/httpd.conf:{line}, which 2.2 joins "
        "with this section" in found.message
    )


def test_a_section_that_a_later_one_alone_protects_says_so(tmp_path: Path) -> None:
    """Both versions admit every client by the .htaccess file; <LocationMatch> is merged behind it."""
    conf = (
        f"{MODULES}DocumentRoot ROOT/h\n<Directory ROOT/h>\nAllowOverride All\nOrder deny,allow\n"
        "Allow from all\n</Directory>\n<LocationMatch ^/council/>\nOrder deny,allow\nDeny from all\n"
        "Allow from 10.20\nSatisfy any\n</LocationMatch>\n"
    )
    files: dict[str, str | bytes] = {
        "conf/httpd.conf": conf,
        "h/council/.htaccess": "Satisfy all\n",
        "h/council/x.html": "",
    }
    result = upgrade(config_tree(tmp_path, files))
    (found,) = (one for one in result.findings if one.place.path.endswith(".htaccess") and one.rule == "C17")
    line = conf.splitlines().index("<LocationMatch ^/council/>") + 1
    assert (
        "alone this section admits every client, in both versions: `<LocationMatch ^/council/>` at "
        f"conf/httpd.conf:{line} decides later" in found.message
    )
