"""After an upgrade was written, sentences name the lines of the files that are there."""

from __future__ import annotations

from pathlib import Path

from tests.unit.upgrade.config_trees import config_tree

from whimbrel.report.entries import entry_of, relative_places
from whimbrel.report.written_lines import WrittenLines
from whimbrel.upgrade.check.fixpoint import upgrade

CONF = (
    "LockFile /var/lock/a\n"  # 2.4 has none: the lines below move up
    "<Directory ROOT/htdocs>\nOrder deny,allow\nDeny from all\n</Directory>\n"
    "Alias /x ROOT/htdocs\n"
)


def test_lines_that_sentences_name(tmp_path: Path) -> None:
    result = upgrade(config_tree(tmp_path, {"conf/httpd.conf": CONF, "htdocs/x": ""}))
    new = result.files[f"{tmp_path}/conf/httpd.conf"].decode().split("\n")
    old = (tmp_path / "conf/httpd.conf").read_text().split("\n")
    number = {text: at for at, text in enumerate(old, 1)}
    alias = f"Alias /x {tmp_path}/htdocs"
    moved = new.index(alias) + 1
    assert moved != number[alias]
    written = WrittenLines(result)
    root = str(tmp_path)
    place = f"conf/httpd.conf:{number[alias]}"
    assert written.sentence(f"after {place}, and", root) == f"after conf/httpd.conf:{moved}, and"
    assert written.sentence(f"at {root}/{place}", root) == f"at {root}/conf/httpd.conf:{moved}"
    assert written.sentence(f"at other/{place}", root) == f"at other/{place}"
    assert written.sentence("conf/other.conf:1 and line 6", root) == "conf/other.conf:1 and line 6"
    text = f"line {number[alias]} never decided"
    assert written.sentence(text, root, f"{root}/conf/httpd.conf") == f"line {moved} never decided"
    assert written.sentence("conf/httpd.conf:99", root) == "conf/httpd.conf:99 of the old text"


def test_a_finding_that_a_sentence_names_is_where_the_report_has_it(tmp_path: Path) -> None:
    result = upgrade(config_tree(tmp_path, {"conf/httpd.conf": CONF, "htdocs/x": ""}))
    (finding,) = [one for one in result.findings if one.rule == "C17"]
    new = result.files[f"{tmp_path}/conf/httpd.conf"].decode().split("\n")
    written = WrittenLines(result)
    line = new.index("Require all denied") + 1
    assert written.entry(entry_of(finding, str(tmp_path)), finding, str(tmp_path)).line == line
    text = f"see C17 at conf/httpd.conf:{finding.place.line}"
    assert written.sentence(text, str(tmp_path)) == f"see C17 at conf/httpd.conf:{line}"


def test_places_below_the_directory_alone_are_shortened() -> None:
    text = "at /srv/a/conf/x.conf:3 and /srv/ab/y.conf:4, User file /srv/a/users, `Include /srv/a/z`"
    assert relative_places(text, "/srv/a") == text.replace("/srv/a/conf", "conf")
    assert relative_places("http://h/srv/a/x.conf:3", "/srv/a") == "http://h/srv/a/x.conf:3"
    assert relative_places("/etc/x.conf:3", "/") == "/etc/x.conf:3"


def test_the_choices_are_about_the_text_that_is_there(tmp_path: Path) -> None:
    """A comment keeps what stands below it: above a line that an upgrade wrote, it keeps that line. So no
    choice of any rule says that it keeps the old text, or that the upgrade would write the new one."""
    conf = (
        f"<Directory {tmp_path}/htdocs>\nOrder allow,deny\nAllow from all\n</Directory>\n"
        "LoadModule ssl_module modules/mod_ssl.so\nLoadModule proxy_module modules/mod_proxy.so\n"
        "LoadModule proxy_http_module modules/mod_proxy_http.so\n"
        "SSLProxyEngine on\nProxyPass /b https://back.example/\n"
        "SSLCARevocationFile conf/crl.pem\nSSLVerifyClient require\nSSLCACertificateFile conf/ca.pem\n"
    )
    result = upgrade(config_tree(tmp_path, {"conf/httpd.conf": conf, "htdocs/x": ""}))
    written = WrittenLines(result)
    root = str(tmp_path)
    rules = set()
    for finding in result.findings:
        before = entry_of(finding, root)
        entry = written.entry(before, finding, root)
        if not (finding.edits and before.answers):
            continue
        rules.add(finding.rule)
        assert "keeps the text as it is" not in str(entry.answers), entry
        assert "upgrade writes" not in str(entry.answers), entry
        assert entry.answers[0].startswith(f"yes: # whimbrel: ignore[{finding.rule}] above the line keeps")
        assert entry.message.startswith("of the text of 2.2: ")
        assert entry.text in {line.strip() for line in finding.new}
    assert rules >= {"C11", "C40", "C43"}, rules
