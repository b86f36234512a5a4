"""The cause of an answer."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.explain.explained_site import CONF, explained, old_side, side_of

from whimbrel.explain.cause import AnswerCause, _decides, cause_of
from whimbrel.explain.explanation import explain_probe
from whimbrel.explain.source_lines import SourceLines
from whimbrel.explain.step import ExplanationStep, RequestExplanation
from whimbrel.explain.text import main_rows
from whimbrel.verify.probe import Probe, ProbeUser, TlsFacts
from whimbrel.verify.side import Side


@pytest.fixture(scope="module")
def side(tmp_path_factory: pytest.TempPathFactory) -> Side:
    more = """
Redirect gone /left
Alias /empty @ROOT@/htdocs/empty
ErrorDocument 404 /missing-too.html
<Location /closed>
    Require all denied
</Location>
<Location /named>
    AuthType Basic
    AuthName staff
    AuthUserFile "@ROOT@/users"
    Require user alice
</Location>
"""
    return side_of(tmp_path_factory.mktemp("site"), CONF + more)


def texts(cause: AnswerCause) -> list[str]:
    return [line.text for line in cause.all_lines]


@pytest.mark.parametrize(
    ("target", "host", "status", "lines", "sentence"),
    [
        ("/closed", "q", 403, ["Require all denied"], "it does not admit this client"),
        ("/named", "q", 401, ["Require user alice"], "no credentials were sent"),
        ("/old/x", "q", 302, ["Redirect /old /new"], ""),
        ("/left", "q", 410, ["Redirect gone /left"], ""),
        ("/nope", "a.example", 403, ["RewriteRule ^/nope - [F]"], ""),
        ("/cgi-bin/x", "q", 404, None, "cgi/x"),
        ("/private/x.html", "q", 401, ["Require valid-user"], "no credentials were sent"),
        ("/", "q", 200, ["Require all granted"], "index.html is sent"),
        ("/index.html", "q", 200, ["Require all granted"], "index.html is sent"),
        ("/private", "q", 401, ["Require valid-user"], ""),
        ("/app/x", "q", None, None, "would run a program or contact a back end"),
    ],
)
def test_the_line_and_the_sentence(
    side: Side, target: str, host: str, status: int | None, lines: list[str] | None, sentence: str
) -> None:
    explanation = explained(side, target, host)
    cause = cause_of(explanation)
    assert explanation.status == status
    assert lines is None or texts(cause) == lines
    assert sentence in cause.sentence


def test_a_missing_file_is_the_cause_in_front_of_a_missing_error_document(side: Side) -> None:
    cause = cause_of(explained(side, "/none"))
    assert cause.sentence.endswith("htdocs/none does not exist")
    assert [line.text.split()[0] for line in cause.lines] == ["DocumentRoot"]
    assert [line.text for line in cause.granting] == ["Require all granted"]


def test_a_refused_index_file_is_looked_for_by_get(tmp_path: Path) -> None:
    """mod_dir makes its sub-requests by GET, whatever the method, and keeps the status of the last one that
    failed with another one than 404 (mod_dir.c, fixup_dir).
    """
    conf = (
        "Listen 80\nServerName q\nDocumentRoot @ROOT@/htdocs\nTypesConfig @ROOT@/mime.types\n"
        "DirectoryIndex index.html none.html\n<Files index.html>\nAuthType Basic\nAuthName a\n"
        "AuthUserFile @ROOT@/users\n<Limit GET>\nRequire user alice\n</Limit>\n</Files>\n"
    )
    found = explain_probe(side_of(tmp_path, conf), Probe("/", method="PUT", host="q"))
    cause = cause_of(found)
    assert found.status == 401
    assert texts(cause) == ["Require user alice"]
    assert cause.sentence.endswith("mod_dir looked for the index file by GET /index.html")


def test_a_user_that_no_line_admits(side: Side) -> None:
    cause = cause_of(explained(side, "/named", user="bob"))
    assert texts(cause) == ["Require user alice"]
    assert cause.sentence == "bob is authenticated, and no line admits bob"


@pytest.mark.parametrize("dialect", ["2.2", "2.4"])
@pytest.mark.parametrize(
    ("line", "cause"),
    [("SSLRequireSSL", "SSL connection required"), ("Allow from 10.1.0.1", "")],
)
def test_a_deny_line_beside_an_allow_line_that_matches_refuses_nothing(
    tmp_path: Path, dialect: str, line: str, cause: str
) -> None:
    """With Order deny,allow a client that an Allow line names is let in (mod_authz_host, Order); all modules
    of the phase access_checker are asked, and SSLRequireSSL refuses requests without TLS."""
    conf = "Listen 80\nServerName q\nDocumentRoot @ROOT@/htdocs\nTypesConfig @ROOT@/mime.types\n"
    loads = (f"LoadModule {name}_module modules/mod_{name}.so\n" for name in ("access_compat", "ssl"))
    conf += f"{''.join(loads)}<Location />\n{line}\nOrder deny,allow\n"
    conf += "Deny from all\nAllow from 192.0.2.1\n</Location>\n"
    side = old_side(tmp_path, conf) if dialect == "2.2" else side_of(tmp_path, conf)
    found = cause_of(explained(side, "/index.html"))
    assert found.sentence.endswith(cause or "index.html is sent")
    assert "Deny from all" not in texts(found)
    assert texts(found) == (["SSLRequireSSL"] if cause else ["Allow from 192.0.2.1"])


@pytest.mark.parametrize("dialect", ["2.2", "2.4"])
@pytest.mark.parametrize(
    ("options", "user", "status", "line", "sentence"),
    [
        ("", "", 401, "Require valid-user", "no credentials were sent"),
        ("", "bob", 200, "Require valid-user", "index.html is sent"),
        ("SSLOptions +StrictRequire", "bob", 403, "SSLRequireSSL", "SSL connection required"),
    ],
)
def test_satisfy_any_asks_for_a_user_behind_sslrequiressl(
    tmp_path: Path, dialect: str, options: str, user: str, status: int, line: str, sentence: str
) -> None:
    """StrictRequire forces a refusal by SSLRequireSSL "even when Satisfy Any is used" (mod_ssl, SSLOptions);
    without it the user decides, and the message about TLS is no reason of the 401."""
    conf = "Listen 80\nServerName q\nDocumentRoot @ROOT@/htdocs\nTypesConfig @ROOT@/mime.types\n"
    loads = (f"LoadModule {name}_module modules/mod_{name}.so\n" for name in ("access_compat", "ssl"))
    conf += f"{''.join(loads)}<Location />\nSSLRequireSSL\n{options}\nAuthType Basic\nAuthName staff\n"
    conf += "AuthUserFile @ROOT@/users\nRequire valid-user\nSatisfy any\n</Location>\n"
    side = old_side(tmp_path, conf) if dialect == "2.2" else side_of(tmp_path, conf)
    explanation = explained(side, "/index.html", user=user)
    cause = cause_of(explanation)
    assert explanation.status == status
    assert line in texts(cause)
    assert cause.sentence.endswith(sentence)


@pytest.mark.parametrize("dialect", ["2.2", "2.4"])
def test_strictrequire_is_named_with_the_condition_that_fails(tmp_path: Path, dialect: str) -> None:
    """Other words of SSLOptions, and conditions that hold, refuse nobody."""
    conf = "Listen 80\nServerName q\nDocumentRoot @ROOT@/htdocs\nTypesConfig @ROOT@/mime.types\n"
    loads = (f"LoadModule {name}_module modules/mod_{name}.so\n" for name in ("access_compat", "ssl"))
    conf += f"{''.join(loads)}<Location />\nSSLOptions +StdEnvVars\nSSLOptions +FakeBasicAuth\n"
    conf += 'SSLOptions +StrictRequire\nSSLRequireSSL\nSSLRequire %{REMOTE_ADDR} == "10.9.9.9"\n'
    conf += "AuthType Basic\nAuthName staff\nAuthUserFile @ROOT@/users\nRequire valid-user\n"
    conf += "Satisfy any\n</Location>\n"
    side = old_side(tmp_path, conf) if dialect == "2.2" else side_of(tmp_path, conf)
    explanation = explain_probe(side, Probe("/index.html", host="q", tls=TlsFacts()))
    assert explanation.status == 403
    found = texts(cause_of(explanation))
    assert found == ["SSLOptions +StrictRequire", 'SSLRequire %{REMOTE_ADDR} == "10.9.9.9"']


def test_a_name_that_no_lookup_gives_is_no_reason_of_a_challenge(tmp_path: Path) -> None:
    """One Require line of <RequireAny> is enough: the client may still send a password."""
    more = "<Location /index.html>\nAuthType Basic\nAuthName staff\nAuthUserFile @ROOT@/users\n<RequireAny>\n"
    more += "Require host .example.net\nRequire valid-user\n</RequireAny>\n</Location>\n"
    explanation = explained(side_of(tmp_path, CONF + more), "/index.html")
    cause = cause_of(explanation)
    assert (explanation.status, texts(cause)) == (401, ["Require valid-user"])
    assert "no credentials were sent" in cause.sentence and "remote host name" not in cause.sentence


@pytest.mark.parametrize("dialect", ["2.2", "2.4"])
def test_of_several_sslrequire_lines_the_one_that_fails_is_named(tmp_path: Path, dialect: str) -> None:
    """All SSLRequire lines must hold (mod_ssl, SSLRequire): the others refuse nothing."""
    conf = "Listen 80\nServerName q\nDocumentRoot @ROOT@/htdocs\nTypesConfig @ROOT@/mime.types\n"
    conf += "LoadModule ssl_module modules/mod_ssl.so\n<Location />\n"
    conf += 'SSLRequire %{REMOTE_ADDR} == "192.0.2.1"\nSSLRequire %{REQUEST_METHOD} == "PUT"\n'
    conf += 'SSLRequire %{REQUEST_METHOD} != "PUT"\n</Location>\n'
    side = old_side(tmp_path, conf) if dialect == "2.2" else side_of(tmp_path, conf)
    explanation = explain_probe(side, Probe("/index.html", host="q", tls=TlsFacts()))
    assert explanation.status == 403
    assert texts(cause_of(explanation)) == ['SSLRequire %{REQUEST_METHOD} == "PUT"']


def test_a_user_of_digest_outside_of_the_group_is_refused_by_the_require_line_of_22(tmp_path: Path) -> None:
    """The password was right (mod_auth_digest): the user's groups are the reason, not the password file."""
    conf = "Listen 80\nServerName q\nDocumentRoot @ROOT@/htdocs\nTypesConfig @ROOT@/mime.types\n"
    conf += "<Location />\nAuthType Digest\nAuthName staff\nAuthUserFile @ROOT@/digest\n"
    conf += "AuthDigestProvider file\n"
    conf += "AuthGroupFile @ROOT@/groups\nRequire group few\n</Location>\n"
    (tmp_path / "digest").write_text("bob:staff:5c36f958a82dfda7250780b4b65de83a\n")
    (tmp_path / "groups").write_text("few: alice\n")
    explanation = explained(old_side(tmp_path, conf), "/index.html", user="bob")
    cause = cause_of(explanation)
    assert (explanation.status, texts(cause)) == (401, ["Require group few"])
    assert "bob" in cause.sentence


def test_a_client_of_rfc_2069_is_refused_by_the_line_that_asks_for_digest(tmp_path: Path) -> None:
    """2.4 takes no Digest without qop (AH10560), whatever user and password are."""
    more = "LoadModule auth_digest_module modules/mod_auth_digest.so\n<Location /index.html>\n"
    more += "AuthType Digest\nAuthName staff\nAuthUserFile @ROOT@/digest\nRequire valid-user\n</Location>\n"
    (tmp_path / "digest").write_text("bob:staff:5c36f958a82dfda7250780b4b65de83a\n")
    side = side_of(tmp_path, CONF + more)
    asked = [
        explain_probe(side, Probe("/index.html", host="q", user=ProbeUser("bob", scheme, is_assumed=True)))
        for scheme in ("digest", "digest without qop")
    ]
    assert [one.status for one in asked] == [200, 401]
    cause = cause_of(asked[1])
    assert texts(cause) == ["AuthType Digest"] and "qop" in cause.sentence


def test_a_path_that_leads_out_of_the_tree_has_no_line_of_22(tmp_path: Path) -> None:
    """ap_getparents leaves no way above the root: 400, whatever DocumentRoot is."""
    conf = "Listen 80\nServerName q\nDocumentRoot @ROOT@/htdocs\nTypesConfig @ROOT@/mime.types\n"
    explanation = explained(old_side(tmp_path, conf), "/%2e%2e/etc/passwd")
    cause = cause_of(explanation)
    assert (explanation.status, texts(cause)) == (400, []) and "Invalid URI" in cause.sentence


def test_the_index_of_a_directory_that_was_negotiated_names_multiviews(tmp_path: Path) -> None:
    """MultiViews searches variants of a name that does not exist, that of DirectoryIndex too."""
    more = "LoadModule negotiation_module modules/mod_negotiation.so\n"
    more += "<Directory @ROOT@/htdocs/two>\nOptions MultiViews\n</Directory>\nAddLanguage en .en\n"
    side = side_of(tmp_path, CONF + more)
    (tmp_path / "htdocs/two").mkdir()
    (tmp_path / "htdocs/two/index.html.en").write_text("two\n")
    cause = cause_of(explained(side, "/two/"))
    assert "Options MultiViews" in texts(cause) and cause.sentence.endswith("index.html.en is sent")
    assert "Options MultiViews" not in texts(cause_of(explained(side, "/")))


def test_order_allow_and_deny_of_22(tmp_path: Path) -> None:
    order = "<Directory @ROOT@/htdocs>\nOrder {}\n{}</Directory>\n"
    base = "Listen 80\nServerName q\nDocumentRoot @ROOT@/htdocs\nTypesConfig @ROOT@/mime.types\n"
    for rows, expected in (
        (("deny,allow", "Deny from 192.0.2\n"), (["Deny from 192.0.2"], "it names this client")),
        (("allow,deny", "Allow from 10\n"), (["Order allow,deny"], "no Allow line has this client")),
        (("allow,deny", "Allow from all\n"), (["Allow from all"], "index.html is sent")),
    ):
        cause = cause_of(explained(old_side(tmp_path, base + order.format(*rows)), "/index.html"))
        assert (texts(cause), cause.sentence.rpartition("/")[2]) == expected


def test_a_required_user_without_a_type_of_authentication_is_the_cause_of_500(tmp_path: Path) -> None:
    """The words are those of the error log of 2.2."""
    text = "Listen 80\nServerName q\nDocumentRoot @ROOT@/htdocs\nTypesConfig @ROOT@/mime.types\n"
    text += "<Directory @ROOT@/htdocs>\nOrder allow,deny\nAllow from all\nRequire all denied\n</Directory>\n"
    found = explained(old_side(tmp_path, text), "/index.html")
    cause = cause_of(found)
    assert (found.status, texts(cause)) == (500, ["Require all denied"])
    assert cause.sentence.startswith(
        "configuration error:  couldn't perform authentication. AuthType not set!"
    )


USER_FILE = 'AuthUserFile "@ROOT@/users"\n'


@pytest.mark.parametrize(
    ("lines", "deciding", "sentence"),
    [
        ('AuthName x\nAuthUserFile "@ROOT@/none"\n', ["AuthUserFile"], "Could not open password file: "),
        (USER_FILE, ["AuthType"], "need AuthName: /index.html"),
        ("AuthName x\n", ["AuthType"], "AuthUserFile not specified in the configuration"),
        (
            f"AuthName x\n{USER_FILE}AuthBasicAuthoritative Off\n",
            ["AuthBasicAuthoritative", "AuthType"],
            "no provider has this user, and AuthBasicAuthoritative Off leaves the answer to others; ",
        ),
    ],
)
def test_an_authentication_that_fails_is_the_cause_of_500_and_no_require_line(
    lines: str, deciding: list[str], sentence: str, tmp_path: Path
) -> None:
    """mod_authn_core.c, authenticate_no_user; mod_auth_basic.c, authenticate_basic_user."""
    text = (
        "Listen 80\nServerName q\nDocumentRoot @ROOT@/htdocs\nTypesConfig @ROOT@/mime.types\n"
        f"<Directory @ROOT@/htdocs>\nAuthType Basic\n{lines}Require valid-user\n</Directory>\n"
    )
    side = side_of(tmp_path, text)
    (tmp_path / "users").write_text("alice:x\n")
    probe = Probe("/index.html", host="q", fields=(("Authorization", "Basic bm91c2VyOng="),))
    found = explain_probe(side, probe)
    cause = cause_of(found)
    assert (found.status, [line.partition(" ")[0] for line in texts(cause)]) == (500, deciding)
    assert cause.sentence.startswith(sentence)


def group_side(root: Path, more: str = "") -> Side:
    """Return a site of 2.2 whose documents are for the group staff, with alice in it and bob not."""
    text = (
        "Listen 80\nServerName q\nDocumentRoot @ROOT@/htdocs\nTypesConfig @ROOT@/mime.types\n"
        "<Directory @ROOT@/htdocs>\nAuthType Basic\nAuthName x\nAuthUserFile @ROOT@/people\n"
        f"AuthGroupFile @ROOT@/groups\nRequire user carol\nRequire group staff\n{more}</Directory>\n"
    )
    (root / "people").write_text("alice:x\nbob:x\ncarol:x\n")
    (root / "groups").write_text("staff: alice\n")
    return old_side(root, text)


def test_a_group_of_22(tmp_path: Path) -> None:
    side = group_side(tmp_path)
    causes = {}
    for name in ("alice", "bob"):
        user = ProbeUser(name, is_assumed=True, has_file_groups=True)
        found = explain_probe(side, Probe("/index.html", host="q", user=user))
        causes[name] = (found.status, texts(cause_of(found)))
    assert causes["alice"] == (200, ["Require group staff"])
    assert causes["bob"] == (401, ["Require group staff"])


@pytest.mark.parametrize(
    ("more", "user", "deciding"),
    [
        # mod_authz_groupfile is asked first, and leaves no user to mod_authz_user: carol is no member either
        ("", "carol", (401, ["Require group staff"])),
        ("", "", (401, ["Require group staff"])),
        ("AuthzGroupFileAuthoritative Off\n", "bob", (401, ["Require user carol", "Require group staff"])),
        ("AuthzGroupFileAuthoritative Off\n", "", (401, ["Require user carol", "Require group staff"])),
        ("AuthzGroupFileAuthoritative Off\n", "alice", (200, ["Require group staff"])),
        ("AuthGroupFile none\n", "bob", (500, [])),
    ],
)
def test_lines_without_effect_are_no_cause_under_22(
    tmp_path: Path, more: str, user: str, deciding: tuple[int, list[str]]
) -> None:
    """Each module of 2.2 knows some words of Require, and the first one that is authoritative decides."""
    assumed = ProbeUser(user, is_assumed=True, has_file_groups=True) if user else None
    found = explain_probe(group_side(tmp_path, more), Probe("/index.html", host="q", user=assumed))
    lines = [text for text in texts(cause_of(found)) if text.startswith("Require")]
    assert (found.status, lines) == deciding
    line = next(step for step in found.all() if step.what == "Require user carol")
    has_effect = more.startswith("AuthzGroupFileAuthoritative") and user != "alice"
    assert (line.result == "applies") is has_effect


def test_the_address_is_enough_for_satisfy_any_of_22(tmp_path: Path) -> None:
    side = group_side(tmp_path, "Order deny,allow\nDeny from all\nAllow from 192.0.2\nSatisfy Any\n")
    found = explained(side, "/index.html", user="alice")
    assert texts(cause_of(found)) == ["Allow from 192.0.2"]


def test_a_configuration_that_does_not_load() -> None:
    cause = cause_of(RequestExplanation("GET /", "2.4", errors=("AH1:\nInvalid",)))
    assert cause == AnswerCause(sentence="AH1: Invalid")


def test_a_wrong_password_is_no_authenticated_user(tmp_path: Path) -> None:
    """The sentence is that of httpd's error log (AH01617)."""
    side = side_of(tmp_path)
    (tmp_path / "users").write_text("robin:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n")  # htpasswd -s, "secret"
    wrong = ProbeUser("robin", is_password_valid=False)
    explanation = explain_probe(side, Probe("/private/x.html", host="q", user=wrong, client="192.0.2.1"))
    assert explanation.status == 401
    assert "Password Mismatch" in cause_of(explanation).sentence
    assert "authenticated" not in cause_of(explanation).sentence


def test_deny_from_all_names_every_client(tmp_path: Path) -> None:
    denied = "<Location />\n    Order allow,deny\n    Deny from all\n</Location>\n"
    explanation = explained(old_side(tmp_path, f'DocumentRoot "@ROOT@/htdocs"\n{denied}'), "/index.html")
    assert (explanation.status, cause_of(explanation).sentence) == (403, "it names every client")


def test_a_refused_address_is_no_reason_to_ask_for_a_password(tmp_path: Path) -> None:
    """apache2 logs AH01797 here and answers 401: the password is what is missing."""
    more = """LoadModule access_compat_module modules/mod_access_compat.so
<Location /any>
    AuthType Basic
    AuthName staff
    AuthUserFile "@ROOT@/users"
    Require valid-user
    Order deny,allow
    Deny from all
    Satisfy Any
</Location>
"""
    explanation = explained(side_of(tmp_path, CONF + more), "/any")
    cause = cause_of(explanation)
    assert (explanation.status, texts(cause)) == (401, ["Require valid-user"])
    assert cause.sentence == "no credentials were sent"


@pytest.mark.parametrize(
    "target", ["/closed", "/named", "/old/x", "/left", "/none", "/private", "/private/x.html", "/"]
)
def test_the_cause_does_not_depend_on_the_log_level(tmp_path: Path, target: str) -> None:
    """Lines of levels below notice follow each request, and are the reason of none."""
    rules = "<Directory @ROOT@/htdocs>\nRewriteEngine On\nRewriteRule ^nothing$ - [F]\n</Directory>\n"
    closed = "<Location /closed>\nRequire all denied\n</Location>\nRedirect gone /left\n"
    named = '<Location /named>\nAuthType Basic\nAuthName s\nAuthUserFile "@ROOT@/users"\n' + (
        "Require user alice\n</Location>\n"
    )
    text = CONF + rules + closed + named
    quiet = cause_of(explained(side_of(tmp_path, text), target))
    loud = explained(side_of(tmp_path, f"{text}LogLevel trace8\n"), target)
    assert cause_of(loud).sentence == quiet.sentence
    assert texts(cause_of(loud)) == texts(quiet)
    levels = {line.detail for line in loud.log_lines()}
    assert levels & {"trace1", "trace2", "trace3", "debug", "info"}


def test_a_place_without_require_lines_grants_by_none(side: Side) -> None:
    """apache2 passes such a request on: the sections of directories are not about it."""
    cause = cause_of(explained(side, "/app/x"))
    assert texts(cause) == ["ProxyPass /app http://127.0.0.1:9/"]


NESTED = """LoadModule authz_groupfile_module modules/mod_authz_groupfile.so
AccessFileName none
<Directory "@ROOT@/htdocs/private">
    AuthUserFile "@ROOT@/users"
    AuthGroupFile "@ROOT@/groups"
    AuthMerging Off
    Require group hr
</Directory>
<Location /private/x.html>
    AuthMerging And
    Require user ann
    Require ip 10.0.0.0/8
</Location>
<Location /private/y.html>
    <RequireAll>
        Require group hr
        <RequireNone>
            Require user bob
        </RequireNone>
    </RequireAll>
</Location>
<Location /private/z.html>
    <RequireAll>
        Require all granted
        Require not ip 192.0.2.0/24
    </RequireAll>
</Location>
<Location /private/m.html>
    <RequireAny>
        <RequireAll>
            Require not method GET POST
            Require all granted
        </RequireAll>
        Require user ann
    </RequireAny>
</Location>
SetEnvIf Request_URI ^/private/n seen
<Location /private/n.html>
    <RequireAll>
        Require all granted
        Require not method GET
    </RequireAll>
    <RequireAll>
        Require all granted
        Require not env seen
    </RequireAll>
</Location>
"""


@pytest.mark.parametrize(
    ("name", "status", "places", "sentence"),
    [
        ("x", 401, ["Require user ann", "Require ip 10.0.0.0/8"],
         "bob is authenticated, and these lines do not admit bob: AuthMerging And asks for all its parts"),
        ("y", 401, ["Require user bob"],
         "bob is authenticated; the line holds for the user bob, and is negated"),
        ("z", 403, ["Require not ip 192.0.2.0/24"],
         "the line holds for the address of the client, and is negated"),
        ("m", 401, ["Require not method GET POST", "Require user ann"],
         "bob is authenticated; `Require not method GET POST` holds for the method GET, and is negated "
         "(Require not, or in <RequireNone>); no line admits bob"),
        ("n", 403, ["Require not method GET", "Require not env seen"],
         "the lines hold for the method GET and a variable that is set, and are negated"),
    ],
)  # fmt: skip
def test_a_line_that_grants_is_no_cause_of_a_refusal(
    tmp_path: Path, name: str, status: int, places: list[str], sentence: str
) -> None:
    """apache2 has these statuses, and at LogLevel debug the results of the lines."""
    side = side_of(tmp_path, CONF + NESTED)
    (tmp_path / "groups").write_text("hr: ann bob\n")
    user = ProbeUser("bob", is_assumed=True, has_file_groups=True)
    found = explain_probe(side, Probe(f"/private/{name}.html", host="q", user=user, client="192.0.2.1"))
    cause = cause_of(found)
    lines = Path(side.options.file).read_text().splitlines()
    assert (found.status, [lines[line.place.line - 1].strip() for line in cause.lines]) == (status, places)
    assert cause.sentence.startswith(sentence)


def test_a_line_in_require_none_is_shown_as_one(tmp_path: Path) -> None:
    side = side_of(tmp_path, CONF + NESTED)
    (tmp_path / "groups").write_text("hr: ann bob\n")
    user = ProbeUser("bob", is_assumed=True, has_file_groups=True)
    found = explain_probe(side, Probe("/private/y.html", host="q", user=user))
    rows = [row.text for row in main_rows(found, SourceLines(), "")]
    assert "Require group hr: granted" in rows
    assert "Require user bob: denied (in <RequireNone>)" in rows


def test_a_line_that_permits_is_no_cause_of_a_refusal(tmp_path: Path) -> None:
    """apache2 answers 403 (AH02812) with and without the Options line: the handler takes no directory."""
    section = '<Directory "@ROOT@/cgi">\n{}Require all granted\n</Directory>\n'
    for options in ("Options +ExecCGI\n", "", "Options None\n"):
        side = side_of(tmp_path, CONF + section.format(options))
        (tmp_path / "cgi").mkdir(exist_ok=True)
        found = explained(side, "/cgi-bin/")
        assert (found.status, texts(cause_of(found))) == (
            403,
            ["ScriptAlias /cgi-bin @ROOT@/cgi".replace("@ROOT@", str(tmp_path))],
        )
        assert "attempt to invoke directory as script" in cause_of(found).sentence


def test_a_program_without_exec_cgi(tmp_path: Path) -> None:
    """apache2 answers 403: `Options ExecCGI is off in this directory`."""
    lines = '<Directory "@ROOT@/htdocs">\nOptions {}\nSetHandler cgi-script\n</Directory>\n'
    found = explained(side_of(tmp_path, CONF + lines.format("Indexes")), "/index.html")
    assert (found.status, texts(cause_of(found))) == (403, ["Options Indexes"])


@pytest.mark.parametrize("dialect", ["2.2", "2.4"])
@pytest.mark.parametrize(
    ("method", "lines"),
    [("GET", ["Require valid-user"]), ("POST", ["Require valid-user", "Require user anna"])],
)
def test_a_line_about_other_methods_asks_for_no_user(
    tmp_path: Path, dialect: str, method: str, lines: list[str]
) -> None:
    text = (
        "Listen 80\nServerName q\nDocumentRoot @ROOT@/htdocs\nTypesConfig @ROOT@/mime.types\n"
        "<Directory @ROOT@/htdocs>\nAuthType Basic\nAuthName x\nAuthUserFile @ROOT@/users\n"
        "Require valid-user\n<Limit POST>\nRequire user anna\n</Limit>\n</Directory>\n"
    )
    side = old_side(tmp_path, text) if dialect == "2.2" else side_of(tmp_path, text)
    found = explain_probe(side, Probe("/index.html", host="q", method=method))
    assert (found.status, texts(cause_of(found))) == (401, lines)


@pytest.mark.parametrize("target", ["/x.php", "/in/"])
def test_the_line_that_made_the_handler_is_the_cause_of_a_script(tmp_path: Path, target: str) -> None:
    """A media type of the same extension makes no handler, and a setting of PHP none."""
    load = "LoadModule php_module modules/libphp.so\n"
    lines = "AddHandler php-script .php\nAddType text/html .php\nDirectoryIndex x.php\n"
    side = side_of(tmp_path, f'{load}{CONF}{lines}php_value session.save_path "/var/lib/php"\n')
    (tmp_path / "htdocs/in").mkdir()
    for name in ("x.php", "in/x.php"):
        (tmp_path / "htdocs" / name).write_text("<?php\n")
    explanation = explained(side, target)
    assert explanation.status is None
    assert texts(cause_of(explanation))[0] == "AddHandler php-script .php"
    assert not [text for text in texts(cause_of(explanation)) if text.startswith(("AddType", "php_value"))]


SATISFY_ANY = """LoadModule access_compat_module modules/mod_access_compat.so
<Location /any>
    AuthType Basic
    AuthName staff
    AuthUserFile "@ROOT@/users"
    Require user alice
    Order deny,allow
    Deny from all
    Allow from 10.0.0.0/8
    Satisfy Any
</Location>
"""


@pytest.mark.parametrize(
    ("user", "line", "sentence"),
    [
        (None, "Require user alice", "no credentials were sent"),
        (
            ProbeUser("bob", has_file_users=True),
            "Require user alice",
            "bob is authenticated, and no line admits bob",
        ),
        (
            ProbeUser("alice", is_password_valid=False, has_file_users=True),
            'AuthUserFile "@ROOT@/users"',
            'user alice: authentication failure for "/any/": Password Mismatch',
        ),
        (
            ProbeUser("eve", is_assumed=True, has_file_users=True),
            'AuthUserFile "@ROOT@/users"',
            "user eve not found: /any/",
        ),
    ],
)
def test_credentials_behind_satisfy_any_are_not_called_missing(
    tmp_path: Path, user: ProbeUser | None, line: str, sentence: str
) -> None:
    """2.4 logs AH01797 about the address before it looks at the user."""
    site = side_of(tmp_path, CONF + SATISFY_ANY)
    (tmp_path / "users").write_text("alice:x\nbob:x\n")
    cause = cause_of(explain_probe(site, Probe("/any/", host="q", user=user)))
    assert texts(cause) == [line.replace("@ROOT@", str(tmp_path))]
    assert cause.sentence == sentence


@pytest.mark.parametrize(("status", "decides"), [(200, False), (399, False), (400, True), (404, True)])
def test_a_refused_step_decides_about_errors(status: int, decides: bool) -> None:
    """The statuses of errors begin at 400 (RFC 9110, 15)."""
    assert _decides(ExplanationStep("handler", "core", "refused"), status) is decides
