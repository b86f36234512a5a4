"""What is explained: the messages of the specification, the codes of the recordings, directives of both
versions."""

from __future__ import annotations

import lzma
import re
from pathlib import Path

import pytest
from tests.conformance.cases import packed

import whimbrel
from whimbrel.catalogue.third_party import product_of
from whimbrel.upgrade import model as upgrade_model
from whimbrel.upgrade.documents.explain import (
    codes,
    document,
    explain,
    manual,
    message_patterns,
    module,
    rule_of,
    search,
    suggestions,
)
from whimbrel.upgrade.rules import all_rules

INVALID = (
    "Invalid command '{}', perhaps misspelled or defined by a module not included in the server configuration"
)

# The messages of the specification's table of errors, with what must be named.
MESSAGES = [
    (INVALID.format("User"), "mod_unixd"),
    (INVALID.format("Require"), "mod_authz_core"),
    (INVALID.format("Order"), "mod_access_compat"),
    ("Ignoring deprecated use of DefaultType in line 3 of /etc/httpd/conf/httpd.conf", "AddType"),
    (INVALID.format("AddOutputFilterByType"), "mod_filter"),
    ("configuration error:  couldn't check user: /private/", "mod_authn_core"),
]
# Lines of error logs as the servers wrote them, with the code they lead to.
LINES = [
    ("[error] [client 127.0.0.1] client denied by server configuration: /srv/htdocs/a", "AH01797"),
    ("[error] [client 127.0.0.1] user mallory not found: /a01/f.html", "AH01618"),
    (
        '[error] [client 127.0.0.1] user alice: authentication failure for "/a01/f.html": Password Mismatch',
        "AH01617",
    ),
    (
        (
            "[error] [client 127.0.0.1] access to /a failed, reason: user 'yan' does not "
            "meet 'require'ments for user"
        ),
        "AH01631",
    ),
    ("[error] [client 127.0.0.1] Directory index forbidden by Options directive: /srv/htdocs/d/", "AH01276"),
    ("[error] [client 127.0.0.1] File does not exist: /srv/htdocs/none", "AH00128"),
    ("apache2: Configuration error: No MPM loaded.", "AH00534"),
    ("[proxy:crit] Cannot find LB Method: byrequests", "AH02432"),
]


def test_every_recorded_code_is_known() -> None:
    texts = (lzma.decompress(path.read_bytes()).decode() for path in packed())
    met = {code for text in texts for code in re.findall(r"AH\d{5}", text)}
    assert len(met) > 300
    assert sorted(met - set(codes())) == []


def test_every_code_that_the_package_writes_is_known() -> None:
    """Each has a sentence of its own words: none repeats the message."""
    sources = Path(whimbrel.__file__).parent.rglob("*.py")
    written = {code for path in sources for code in re.findall(r"AH\d{5}", path.read_text(encoding="utf-8"))}
    assert len(written) > 1100
    assert sorted(written - set(codes())) == []
    for code in codes().values():
        assert code.meaning and code.meaning.strip(".").lower() != code.message.strip(".").lower(), code.code
        assert not code.meaning.endswith("."), code.code


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("AH00163: Apache/2.4.71 (Debian) configured -- resuming normal operations", "serves from here on"),
        ("AH00489: Apache/2.4.71 (Debian) configured -- resuming normal operations", "serves from here on"),
        ("AH00169: caught SIGTERM, shutting down", "was told to stop"),
        ("AH00491: caught SIGTERM, shutting down", "was told to stop"),
        ("AH00171: Graceful restart requested, doing restart", "reads its configuration again"),
        ("AH00094: Command line: '/usr/sbin/apache2'", "command line"),
        ("AH00558: apache2: Could not reliably determine the server's fully qualified domain name", "name"),
    ],
)
def test_lines_of_each_start_and_stop(line: str, word: str) -> None:
    (found,) = explain(f"[Sun Nov 29 14:59:24.091 2026] [mpm_event:notice] [pid 1:tid 1] {line}")
    assert word in found.title


def test_the_tables_lead_somewhere() -> None:
    named = {row for code in codes().values() for row in code.rows} | {
        row for one in message_patterns() for row in one.rows
    }
    assert sorted(row for row in named if not re.fullmatch(r"[CRX]\d\d", row)) == []
    assert sorted({code for one in message_patterns() for code in one.codes} - set(codes())) == []
    assert [code.code for code in codes().values() if not code.meaning] == []


@pytest.mark.parametrize(("line", "word"), MESSAGES)
def test_messages_of_the_specification(line: str, word: str) -> None:
    assert any(word in one.body for one in explain(line))


@pytest.mark.parametrize(("line", "code"), LINES)
def test_lines_without_code(line: str, code: str) -> None:
    (found,) = explain(line)
    assert found.kind == "message"
    assert code in found.body


def test_a_line_with_a_code() -> None:
    line = (
        "[Sat Nov 21 15:15:14.1 2026] [access_compat:error] [pid 7:tid 8] [client "
        "127.0.0.1:1] AH01797: client denied by server configuration: /a"
    )
    assert [(one.kind, one.name) for one in explain(line)] == [("code", "AH01797")]


@pytest.mark.parametrize("symptom", ["403", "502 Bad Gateway", ".htaccess files are not processed"])
def test_symptoms_lead_to_rows(symptom: str) -> None:
    (found,) = explain(symptom)
    assert found.rows


def test_rows() -> None:
    (found,) = explain("c40")
    assert found.body.startswith("# C40 ")
    assert found.body == manual(next(rule for rule in all_rules() if rule.number == "C40"))
    covering = rule_of("X24")
    assert covering is not None
    assert explain("C99") == []


def test_a_directive_shows_both_versions() -> None:
    (found,) = explain("fileetag")
    assert found.kind == "directive"
    assert "httpd 2.2" in found.body
    assert ".htaccess (AllowOverride FileInfo)" in found.body
    (gone,) = explain("RewriteLog")
    assert "no such directive in 2.4" in gone.body
    assert "C39" in gone.rows
    (section,) = explain("<AuthnProviderAlias>")
    assert "C24" in section.rows


@pytest.mark.parametrize(
    "name", ["mod_authn_alias", "authn_alias_module", "mod_authn_alias.c", "modules/mod_authn_alias.so"]
)
def test_a_module_by_any_of_its_names(name: str) -> None:
    (found,) = module(name)
    assert "no such module in 2.4" in found.body


def test_typos() -> None:
    assert "SSLProtocol" in suggestions("SLProtocol")
    assert explain("no such thing at all") == []


def test_lists_are_searched() -> None:
    assert ("C44", "Substitute takes lines of up to a megabyte") in search("substitute")
    assert "AH01328" in dict(search("SubstituteMaxLineLength"))
    assert search("no such thing") == []


@pytest.mark.parametrize(
    ("query", "kind", "row"),
    [
        ("Order deny,allow", "directive", "C17"),
        ("mod_rpaf", "module", "X19"),
        ("client denied by server configuration", "message", "C17"),
        ("php5_module", "module", "X24"),
        ("NameVirtualHost *:80", "directive", "C14"),
    ],
)
def test_lines_of_a_configuration_and_modules_of_other_origin(query: str, kind: str, row: str) -> None:
    found = explain(query)[0]
    assert (found.kind, row in found.rows) == (kind, True)


@pytest.mark.parametrize(
    ("query", "texts"),
    [
        ("mod_security2.so", ["ModSecurity", "effect: protection", "WhimbrelIgnoreModule security2"]),
        ("SecRuleEngine", ["A directive of a third-party module (ModSecurity)", "directives: Sec*"]),
        ("auth_kerb_module", ["effect: access", "refused: without it", "mod_auth_gssapi"]),
        ("mod_evasive20", ["built in", "effect: protection"]),
    ],
)
def test_a_third_party_module_and_its_directives(query: str, texts: list[str]) -> None:
    (found,) = explain(query)
    for text in texts:
        assert text in found.body


@pytest.mark.parametrize(
    "name", "php5 fcgid fastcgi suphp rpaf perl python wsgi dav_svn authz_svn security2 mpm_itk".split()
)
def test_modules_of_real_servers_have_a_line(name: str) -> None:
    assert product_of(f"{name}_module") is not None
    assert product_of(f"mod_{name}.so") is not None


def test_the_manual_of_a_rule_has_no_samples_of_tests() -> None:
    for rule in all_rules():
        text = manual(rule)
        assert text.startswith(document(rule).split("\n## ")[0])
        for mark in ("```findings", "```options", "apache unchanged", "## Not touched"):
            assert mark not in text, rule.number
        assert text.count("```") % 2 == 0, rule.number
        assert "## How to fix it\n" in text, rule.number


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (INVALID.format("Foo"), ["No module of httpd has", "The server does not start."]),
        (INVALID.format("RewriteEngin"), ["Similar: RewriteEngine."]),
        (INVALID.format("ExpiresActive"), ["`LoadModule expires_module modules/mod_expires.so`"]),
        (INVALID.format("Order"), ["a directive of mod_access_compat", "C17"]),
        (INVALID.format("RewriteLog"), ["2.2 has RewriteLog, 2.4 does not", "C39"]),
        (INVALID.format("Include"), ["a directive of httpd itself"]),
        (INVALID.format("ThreadsPerChild"), ["mod_mpm_event", "mod_mpm_worker"]),
        (f"/srv/d/.htaccess: {INVALID.format('Foo')}", ["get status 500; the server runs on"]),
        (INVALID.format("SecRule"), ["ModSecurity"]),
    ],
)
def test_a_directive_that_a_server_does_not_know(line: str, words: list[str]) -> None:
    """Which of the two effects comes is apache2's: 500 for a .htaccess file, no start for a main file."""
    (found,) = explain(line)
    assert found.body.startswith("# Invalid command '")
    assert [word for word in words if word not in found.body] == []


def test_whatever_heads_a_finding_is_explained() -> None:
    """A report offers `whimbrel explain HEADING`, for what is no rule too."""
    numbers = [
        value
        for name, value in vars(upgrade_model).items()
        if name.isupper() and isinstance(value, str) and re.fullmatch(r"[A-Z]{4}", value)
    ]
    assert {"READ", "LOAD", "PASS", "DIFF"} <= set(numbers)
    for number in numbers:
        (found,) = explain(number)
        assert (found.kind, found.name) == ("finding", number)
        assert found.body.startswith(f"# {number} {found.title}\n\n") and len(found.body) > 300
        assert (number, found.title) in search("")
    for rule in all_rules():
        assert explain(rule.number)[0].kind == "rule"


def test_words_of_messages_are_no_headings() -> None:
    assert [found.kind for found in explain("load") + explain("Read") + explain("diff")].count("finding") == 0


def test_a_code_names_each_rule_whose_document_is_about_it() -> None:
    for rule in all_rules():
        named = set(re.findall(r"AH\d{5}", document(rule)))
        missing = [code for code in named if code in codes() and rule.number not in codes()[code].rows]
        assert not missing, (rule.number, missing)
    assert codes()["AH10508"].rows == ("R01",)
