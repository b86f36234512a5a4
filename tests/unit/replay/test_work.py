"""Replayed pieces: changes with their causes, counts, bad lines."""

from __future__ import annotations

import os
import random
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.samples import amount
from tests.unit.explain.explained_site import CONF
from tests.unit.replay.replayed_site import NEW, NOW, line, replayer_of, work_of, write_log

from whimbrel.base.errors import SourceLocation
from whimbrel.config.options import LoadOptions
from whimbrel.config.origins import Origin
from whimbrel.engine.cache.entry import CachedResponse
from whimbrel.explain.step import ExplanationStep
from whimbrel.replay import work
from whimbrel.replay.causes import ChangeCauses, causing_lines, status_reason
from whimbrel.replay.log_files import LogPiece, pieces_of
from whimbrel.replay.log_format import DEFAULT_FORMATS
from whimbrel.replay.summary import Summary, risk_of
from whimbrel.replay.tally import NOT_RUN, SOURCE_SENT, ChangeKey, StatusReason, Tally
from whimbrel.replay.text import text_of
from whimbrel.replay.work import LoadFailure, Replayer, ReplayWork, SideOptions
from whimbrel.report.readiness import readiness_of_replay
from whimbrel.upgrade.knowledge.scope import UnknownItem, UnknownKind
from whimbrel.upgrade.model import Risk
from whimbrel.verify.probe import Probe


def replayed(replayer: Replayer, *lines: str | bytes) -> Tally:
    data = b"".join(each.encode("latin-1") if isinstance(each, str) else each for each in lines)
    return replayer.run(LogPiece("log", 0, len(data), data))


def test_changes_have_their_lines_clients_and_examples(tmp_path: Path) -> None:
    replayer = replayer_of(tmp_path)
    tally = replayed(
        replayer,
        *(line("/closed/x", f"192.0.2.{number % 3}", 404) for number in range(9)),
        line("/gone/x", status=404),
        line("/index.html"),
    )
    assert (tally.lines, tally.requests, tally.changed) == (11, 11, 10)
    (closed,) = [key for key in tally.changes if key.what == "status 404 -> 403"]
    assert "Require all denied" in [each.text for each in closed.new]
    change = tally.changes[closed]
    assert change.requests == 9 and sorted(change.clients) == ["192.0.2.0", "192.0.2.1", "192.0.2.2"]
    assert change.examples == [f"GET http://a.example/closed/x from 192.0.2.{n}" for n in (0, 1, 2)]
    (gone,) = [key for key in tally.changes if key.what == "status 404 -> 302, location"]
    assert "Redirect /gone /there" in [each.text for each in gone.new]


def test_clients_are_told_apart_by_the_lists_that_decide(tmp_path: Path) -> None:
    replayer = replayer_of(tmp_path)
    tally = replayed(
        replayer,
        *(line("/private/x.html", f"10.1.0.{number}") for number in range(50)),
        *(line("/private/x.html", f"10.200.0.{number}") for number in range(50)),
        *(line("/private/x.html", f"192.0.2.{number}", 401) for number in range(50)),
    )
    (change,) = tally.changes
    assert change.what.startswith("status 200 -> 401")
    assert [each.text for each in change.old] == ["Require ip 10.0.0.0/8"]
    assert [each.text for each in change.new] == ["Require ip 10.0.0.0/9", "Require valid-user"]
    assert tally.changes[change].requests == 50
    assert dict(tally.statuses) == {(200, 200, 200): 50, (200, 200, 401): 50, (401, 401, 401): 50}
    admitted = [line("/private/x.html", f"10.1.0.{number}") for number in range(50)]
    assert replayed(replayer, *admitted).distinct == 1


def test_users_and_failed_passwords(tmp_path: Path) -> None:
    tally = replayed(
        replayer_of(tmp_path),
        line("/private/x.html", user="alice"),
        line("/private/x.html", user="alice", status=401),
    )
    assert dict(tally.statuses) == {(200, 200, 200): 1, (401, 401, 401): 1}


def test_users_answer_challenges_of_digest(tmp_path: Path) -> None:
    """A log names who was admitted: it was with Digest, as mod_auth_digest takes nothing else (RFC 7616)."""
    digest = (
        "LoadModule auth_digest_module modules/mod_auth_digest.so\n"
        "<Location /index.html>\nAuthType Digest\nAuthName d\nAuthUserFile @ROOT@/users\n%s\n</Location>\n"
    )
    old = CONF + digest % "Require valid-user"
    lines = (
        line("/index.html", user="meier"),
        line("/index.html", user="meier", status=401),
        line("/index.html", status=401),
    )
    tally = replayed(replayer_of(tmp_path, old, old), *lines)
    assert dict(tally.statuses) == {(200, 200, 200): 1, (401, 401, 401): 2}
    tally = replayed(replayer_of(tmp_path, old, CONF + digest % "Require user schulz"), lines[0])
    assert dict(tally.statuses) == {(200, 200, 401): 1}
    (change,) = tally.changes
    assert change.what.startswith("status 200 -> 401")


def test_a_reason_is_given_of_the_answer_with_the_status_alone(tmp_path: Path) -> None:
    side = replayer_of(tmp_path).new
    probe = Probe("/closed/", host="a.example")
    reason = status_reason(side, probe, 403)
    assert reason is not None and [each.text for each in reason.lines] == ["Require all denied"]
    assert status_reason(side, probe, 401) is None


def test_bad_lines_are_counted_and_shown(tmp_path: Path) -> None:
    without = '10.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "-" 408 - "-" "-"'
    tally = replayed(
        Replayer(replace(work_of(tmp_path), with_hours=True)),
        line("/"),
        b"\x00\xff binary\n",
        b"x" * 100_000 + b"\n",
        f"{without}\n",
        line("/index.html"),
    )
    assert (tally.lines, tally.requests) == (5, 2)
    assert (tally.malformed, tally.huge, tally.without_request) == (1, 1, 1)
    assert tally.malformed_examples[0] == "\\x00\\xff binary"
    assert without in tally.malformed_examples
    assert all(len(example) < 1000 for example in tally.malformed_examples)


def test_a_log_of_another_format_has_no_requests(tmp_path: Path) -> None:
    tally = replayed(replayer_of(tmp_path), "2023-01-01 GET /\n", "2023-01-02 GET /\n")
    assert (tally.lines, tally.requests, tally.malformed) == (2, 0, 2)


def test_programs_are_not_run(tmp_path: Path) -> None:
    new = CONF.replace("ProxyPass /app http://127.0.0.1:9/", "ProxyPass /app http://127.0.0.2:9/")
    (tmp_path / "cgi").mkdir()
    (tmp_path / "cgi/z").touch(mode=0o755)
    tally = replayed(replayer_of(tmp_path, CONF, new), line("/cgi-bin/z"), line("/app/z"))
    assert {(old, now) for _logged, old, now in tally.statuses} == {(NOT_RUN, NOT_RUN)}
    (change,) = tally.changes
    assert change.what == "handler or its target"
    assert [each.text for each in change.new] == ["ProxyPass /app http://127.0.0.2:9/"]


PHP5 = CONF + "LoadModule php5_module modules/libphp5.so\nAddHandler php5-script .php\n"
PHP7 = CONF + "LoadModule php7_module modules/libphp7.so\nAddHandler application/x-httpd-php .php\n"


def test_pages_of_php_are_not_run(tmp_path: Path) -> None:
    replayer = replayer_of(tmp_path, PHP5, PHP7)
    (tmp_path / "htdocs/x.php").write_text("<?php secret ?>\n")
    tally = replayed(replayer, line("/x.php"), line("/missing.php", status=404))
    assert dict(tally.statuses) == {(200, NOT_RUN, NOT_RUN): 1, (404, 404, 404): 1}
    assert not tally.changes
    assert Summary("old", "new", ("log",), tally).not_run == 1


def test_the_text_of_a_page_of_php_opens_with_its_line(tmp_path: Path) -> None:
    replayer = replayer_of(tmp_path, PHP5, CONF + "AddHandler application/x-httpd-php .php\n")
    (tmp_path / "htdocs/x.php").write_text("<?php secret ?>\n")
    tally = replayed(replayer, line("/x.php"), line("/x.php", "192.0.2.9"))
    (key,) = tally.changes
    assert key.what == SOURCE_SENT
    assert [each.text for each in key.old] == ["AddHandler php5-script .php"]
    summary = Summary("old", "new", ("log",), tally, dialects=("2.2", "2.4"))
    assert risk_of(key) is Risk.OPENS
    reason = "no: 2 of 2 requests get the source of a program that ran before"
    assert readiness_of_replay(summary) == f"ready for 2.4: {reason}"


def test_a_configuration_that_does_not_load(tmp_path: Path) -> None:
    with pytest.raises(LoadFailure) as failure:
        replayer_of(tmp_path, CONF, "Nonsense\n")
    assert "Invalid command 'Nonsense'" in failure.value.errors[0]


def test_fast_answers_have_the_status_of_the_general_path(tmp_path: Path) -> None:
    replayer = replayer_of(tmp_path)
    chooser = random.Random(7)
    paths = ["/", "/index.html", "/private/x.html", "/old/a", "/gone/b", "/closed/c", "/files/d", "/none"]
    for _ in range(80):
        target = chooser.choice(paths) + chooser.choice(["", "?a=1", "x", "/", "%20y"])
        client = chooser.choice(["10.1.0.1", "10.200.0.1", "192.0.2.9"])
        tally = replayed(replayer, line(target, client, 299))
        (statuses,) = tally.statuses
        probe = Probe(target, host="a.example", client=client)
        assert statuses[1:] == tuple(side.answer(probe).status for side in (replayer.old, replayer.new)), (
            probe
        )


def test_odd_targets_have_the_status_of_the_general_path(tmp_path: Path) -> None:
    replayer = replayer_of(tmp_path)
    chooser = random.Random(11)
    segments = ["private", "closed", "gone", "files", "x.html", "index.html", "none", "a.b.c", "", ".", ".."]
    odd = [
        "%2e",
        "%2F",
        "%00",
        "%zz",
        '"',
        "a%20b",
        ";x",
        "~",
        "\\",
        "é",
        "*",
        "x" * 300,
        ".htaccess",
        "https:",
    ]
    for _ in range(400):
        names = [chooser.choice(chooser.choice([segments, odd])) for _ in range(chooser.randint(1, 3))]
        target = "/" + "/".join(names) + chooser.choice(["", "", "/", "?", "?q=1", "?a?b", "?%"])
        method, client = chooser.choice(["GET", "HEAD", "POST"]), chooser.choice(["10.1.0.1", "192.0.2.9"])
        logged = target.replace("\\", "\\\\").replace('"', '\\"').replace("é", "\\xe9")
        (statuses,) = replayed(replayer, line(logged, client, 299, method=method)).statuses
        probe = Probe(target, method, host="a.example", client=client)
        assert statuses[1:] == tuple(side.answer(probe).status for side in (replayer.old, replayer.new)), (
            probe
        )


def test_what_is_remembered_for_many_requests_is_bounded(tmp_path: Path) -> None:
    replayer = replayer_of(tmp_path)
    (tmp_path / "htdocs" / "large.html").write_text("x" * work.MAX_PAIR_BYTES)
    for name in ("index.html", "large.html"):
        os.utime(tmp_path / "htdocs" / name, (1_600_000_000, 1_600_000_000))
    replayed(replayer, *(line(f"/{name}?{n}") for n in range(9) for name in ("index.html", "large.html")))
    pairs = [old.weight + new.weight for old, new in replayer._pairs]
    assert pairs and max(pairs) <= work.MAX_PAIR_BYTES
    agents = ("a", "b" * work.MAX_TAIL_BYTES)
    work_with_fields = replace(replayer.work, with_fields=True)
    replayer = Replayer(work_with_fields)
    replayed(
        replayer, *(line(f"/{n}").replace("Mozilla/4.08 [en]", agent) for n in range(9) for agent in agents)
    )
    assert [len(tail.data) < work.MAX_TAIL_BYTES for tail in replayer._tails.values()] == [True]


def test_one_result_for_all_piece_orders(tmp_path: Path) -> None:
    log = write_log(tmp_path, (line(f"/closed/{n % 7}", f"10.0.0.{n % 5}") for n in range(500)))
    replayer = replayer_of(tmp_path)
    pieces = list(pieces_of([log], 5000))
    forward = [replayer.run(piece) for piece in pieces]
    backward = [Replayer(replayer.work).run(piece) for piece in reversed(pieces)]
    assert len(pieces) > 5 and forward == backward[::-1]


def test_the_configurations_differ(tmp_path: Path) -> None:
    assert NEW != CONF
    assert replayed(replayer_of(tmp_path, CONF, CONF), line("/closed/x"), line("/gone/x")).changes == {}


def test_answers_that_depend_on_different_lists_are_not_mixed(tmp_path: Path) -> None:
    first = "<Location /index.html>\nRequire ip 10.0.0.0/9\nRequire ip 10.128.0.0/9\n</Location>\n"
    second = (
        "<Location /index.html>\n<RequireAll>\nRequire not ip 10.3.0.0/16\n"
        "<RequireAny>\nRequire ip 10.0.0.0/8\nRequire ip 192.0.2.0/24\n</RequireAny>\n</RequireAll>\n"
        "</Location>\n"
    )
    replayer = replayer_of(tmp_path, CONF + first, CONF + second)
    chooser = random.Random(3)
    clients = [f"{chooser.choice(['10.1', '10.3', '10.200', '192.0', '172.16'])}.2.{n}" for n in range(60)]
    for client in clients:
        (statuses,) = replayed(replayer, line("/index.html", client, 299)).statuses
        probe = Probe("/index.html", host="a.example", client=client)
        assert statuses[1:] == tuple(side.answer(probe).status for side in (replayer.old, replayer.new))
    together = replayed(replayer, *(line("/index.html", client) for client in clients))
    assert together.distinct <= 8 and together.requests == 60


def test_a_format_of_optional_values_has_one_request_for_each_line(tmp_path: Path) -> None:
    replayer = Replayer(replace(work_of(tmp_path), formats=("%r",)))
    for end in ("", "\n", "\n\n", "\r\n"):
        tally = replayed(replayer, "GET / HTTP/1.1\nGET /closed/x HTTP/1.1" + end)
        assert (tally.requests, tally.without_request) == (2, int(end == "\n\n"))
        assert tally.lines == tally.requests + tally.without_request


HOSTS = """<Location /index.html>
Require host within.example
</Location>
<Location /private>
AuthMerging Off
Require ip 192.0.2.0/24
</Location>
"""


def test_names_of_clients_decide_in_every_order(tmp_path: Path) -> None:
    clients = ("a.within.example", "192.0.2.1", "b.elsewhere.example", "10.0.0.1", "10.0.0.2")
    requests = [(path, client) for client in clients for path in ("/index.html", "/private/x.html")]
    replayer = replayer_of(tmp_path, CONF + HOSTS, CONF + HOSTS)
    expected = {
        (path, client): replayer.new.answer(
            Probe(path, host="a.example", client=client)
            if client[0].isdigit()
            else Probe(path, host="a.example", client_host=client)
        ).status
        for path, client in requests
    }
    assert sorted(set(expected.values())) == [200, 403]
    for seed in range(9):
        replayer = Replayer(replayer.work)
        random.Random(seed).shuffle(requests)
        for path, client in requests:
            (statuses,) = replayed(replayer, line(path, client)).statuses
            assert statuses[2] == expected[path, client], (path, client)


PLAIN = """Listen 80
ServerName localhost
DocumentRoot "@/htdocs"
TypesConfig "@/mime.types"
Redirect /old http://there.example/new
"""
VERSIONS = {
    "2.2": ("authz_host", "Order deny,allow"),
    "2.4": ("authz_core", "Require all granted"),
}


def plain_replayer(root: Path, old: tuple[str, str], new: tuple[str, str]) -> Replayer:
    """Return a replayer of `PLAIN` under two versions, each with more lines."""
    sides = []
    (root / "htdocs").mkdir()
    (root / "htdocs/a.txt").write_text("a")
    (root / "mime.types").write_text("text/plain txt\n")
    for name, (version, more) in (("old", old), ("new", new)):
        module, access = VERSIONS[version]
        modules = [module, "alias", "mime", "dir", *(["mpm_event"] if version == "2.4" else [])]
        loads = "".join(f"LoadModule {each}_module modules/mod_{each}.so\n" for each in modules)
        conf = f'{loads}{PLAIN}<Directory "@/htdocs">\n{access}\n</Directory>\n{more}'
        (root / f"{name}.conf").write_text(conf.replace("@", str(root)))
        options = LoadOptions(server_root=str(root), file=str(root / f"{name}.conf"))
        sides.append(SideOptions(options, version, name))
    return Replayer(ReplayWork(sides[0], sides[1], DEFAULT_FORMATS, NOW, "a.example"))


TEMPLATED = """<Location /closed>
{denied}
</Location>
Redirect /moved{old} http://there.example{old}
Redirect /away http://{name}.example/
ErrorDocument 403 "{name}"
"""


def test_requests_with_one_template_have_the_outcomes_of_fresh_sides(tmp_path: Path) -> None:
    """What was found for one path is remembered for others: each outcome is that of a process of its own."""
    old = ("2.2", TEMPLATED.format(denied="Deny from all", old="", name="x"))
    new = ("2.4", TEMPLATED.format(denied="Require all denied", old="/b", name="longer"))
    replayer = plain_replayer(tmp_path, old, new)
    paths = ["/old/{}", "/moved/b/{}", "/moved/{}", "/away/{}", "/closed/{}", "/none-{}", "/{}/b/{}"]
    for number in range(amount(2, 4)):
        lines = [line(path.format(f"name-{number}", "more"), status=299) for path in paths]
        together = [replayed(replayer, each) for each in lines]
        apart = [replayed(Replayer(replayer.work, (replayer.old, replayer.new)), each) for each in lines]
        for path, found, wanted in zip(paths, together, apart, strict=True):
            assert (found.statuses, found.changes.keys(), found.missing) == (
                wanted.statuses,
                wanted.changes.keys(),
                wanted.missing,
            ), path
    assert any(not isinstance(one, CachedResponse) for pair in replayer._pairs for one in pair)


def test_pages_of_both_versions_agree_without_a_probe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2.2 names the path in its pages and the inode in ETags: neither is a change."""
    replayer = plain_replayer(tmp_path, ("2.2", ""), ("2.4", ""))
    monkeypatch.setattr(ChangeCauses, "change", lambda *_: pytest.fail("a request was probed"))
    targets = [path for n in range(9) for path in (f"/a.txt?{n}", f"/none-{n}", f"/old/{n}/b")]
    tally = replayed(replayer, *map(line, targets))
    assert tally.changes == {}
    assert {statuses[1:]: count for statuses, count in tally.statuses.items()} == {
        (200, 200): 9,
        (404, 404): 9,
        (302, 302): 9,
    }


def test_a_rule_that_repeats_itself_leaves_nothing_behind(tmp_path: Path) -> None:
    """The steps of rewriting are those of the present request, and of none where no change is explained."""
    growing = (
        "LoadModule rewrite_module modules/mod_rewrite.so\nRewriteEngine On\nRewriteRule ^/g(.*) /gg$1 [N]\n"
    )
    replayer = plain_replayer(tmp_path, ("2.4", growing), ("2.4", growing))
    tally = replayed(replayer, *(line(f"/g{n}", status=299) for n in range(3)))
    assert {key[1:] for key in tally.statuses} == {(500, 500)}
    assert [side.runtime.steps for side in (replayer.old, replayer.new)] == [(), ()]


def test_the_steps_of_one_explanation_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first ones are kept: they name the rules."""
    growing = (
        "LoadModule rewrite_module modules/mod_rewrite.so\nRewriteEngine On\nRewriteRule ^/g(.*) /gg$1 [N]\n"
    )
    monkeypatch.setattr("whimbrel.verify.probe_runtime.MAX_TEXT", 1 << 20)
    replayer = plain_replayer(tmp_path, ("2.4", growing), ("2.4", growing + "ServerSignature On\n"))
    replayed(replayer, line("/g", status=299))
    steps = replayer.new.runtime.steps
    assert steps and sum(len(step.subject) for step in steps) <= (1 << 20) + (1 << 15)
    assert steps[0].subject == "/g" and steps[0].applied


def test_the_lines_of_an_error_page_are_no_cause() -> None:
    """What decides about access stands before how the page about it is found."""
    line_of_alias = Origin(SourceLocation("/c", 3), "Alias /errors/ /e")
    alias = ExplanationStep("mapping", "mod_alias", lines=(line_of_alias,))
    page = ExplanationStep("redirect", "GET /errors/403", children=(alias,))
    rule = ExplanationStep("access", "Require", lines=(Origin(SourceLocation("/h", 2), "Require ip 10"),))
    assert [line.text for line in causing_lines([page, rule])] == ["Require ip 10"]
    assert [line.text for line in causing_lines([page])] == ["Alias /errors/ /e"]


def test_a_status_of_access_has_the_line_that_decides_as_it_is_written(tmp_path: Path) -> None:
    section = '<Files "*.pdf">\n  Require   ip 10.1\n</Files>'
    new = CONF.replace("Require all granted", f"Require all granted\n{section}")
    replayer = replayer_of(tmp_path, CONF, new)
    (tmp_path / "htdocs/a.pdf").touch()
    log = write_log(tmp_path, [line("/a.pdf")])
    (piece,) = pieces_of([log])
    ((key, _),) = replayer.run(piece).changes.items()
    assert key.what == "status 200 -> 403"
    assert [one.text for one in key.new] == ["Require   ip 10.1"]
    assert key.is_of_access


RULES = """LoadModule rewrite_module modules/mod_rewrite.so
<Directory "@/htdocs">
Options FollowSymLinks
RewriteEngine On
{}
</Directory>
"""
MOVED = "RewriteRule ^went/(.*)$ /new/$1 [R=301,L]"


def changed(root: Path, old: tuple[str, str], new: tuple[str, str], target: str) -> ChangeKey:
    """Return the only change of a request between two plain sites."""
    (key,) = replayed(plain_replayer(root, old, new), line(target)).changes
    return key


def lines_of(key: ChangeKey) -> tuple[list[str], list[str]]:
    return [one.text for one in key.old], [one.text for one in key.new]


def test_a_refusal_of_a_rule_has_the_line_of_the_rule(tmp_path: Path) -> None:
    """2.4 refuses what %3f makes a query of (manual: rewrite/flags.html, UnsafeAllow3F)."""
    text = RULES.format(MOVED)
    key = changed(tmp_path, ("2.2", text), ("2.4", text), "/went/x%3fy")
    assert key.what.startswith("status 301 -> 403")
    assert lines_of(key) == ([MOVED], [MOVED]) and not key.is_of_access
    # httpd's message (mod_rewrite.c, AH10508), and the rule that asks about such URLs
    assert key.reason.startswith("the new side refuses it: AH10508: ") and "(R01: " in key.reason


def test_a_status_that_was_not_logged_has_the_line_that_decides_it(tmp_path: Path) -> None:
    """It is that of the example, the one of the first piece."""
    text = '<Directory "@/htdocs">\nRequire all denied\n</Directory>\n'
    replayer = plain_replayer(tmp_path, ("2.4", text), ("2.4", text))
    tally = replayed(replayer, line("/a.txt"), line("/b.txt"))
    (reason,) = tally.status_reasons.values()
    assert [one.text for one in reason.lines] == ["Require all denied"]
    merged = Tally()
    merged.add(tally)
    other = Tally(status_examples={(200, 403): "x"}, status_reasons={(200, 403): StatusReason((), "y")})
    merged.add(other)
    assert merged.status_reasons == tally.status_reasons
    page = text_of(Summary("old", "new", ("log",), tally, roots=(str(tmp_path),)))
    assert ": GET http://" in page and "\n        because: new.conf:" in page
    assert "because: y\n" in text_of(
        Summary("old", "new", ("log",), Tally(statuses=tally.statuses, status_reasons=other.status_reasons))
    )


def test_a_forbidding_rule_is_no_access_control(tmp_path: Path) -> None:
    """Nor is it where access control refuses the page of the error."""
    rule = "RewriteRule ^a - [F]"
    page = "ErrorDocument 403 /closed/page\n<Location /closed>\n{}\n</Location>\n"
    old = page.format("Order allow,deny") + RULES.format("")
    new = page.format("Require all denied") + RULES.format(rule)
    key = changed(tmp_path, ("2.2", old), ("2.4", new), "/a.txt")
    assert key.what.startswith("status 200 -> 403")
    assert lines_of(key) == ([], [rule]) and not key.is_of_access


def test_a_directory_without_a_list_is_no_access_control(tmp_path: Path) -> None:
    """mod_autoindex refuses it; without this module there is no such page."""
    listing = "LoadModule autoindex_module modules/mod_autoindex.so\nOptions FollowSymLinks\n"
    key = changed(tmp_path, ("2.2", listing), ("2.4", "Options FollowSymLinks\n"), "/")
    assert key.what.startswith("status 403 -> 404")
    assert lines_of(key) == (["Options FollowSymLinks"], []) and not key.is_of_access


def test_access_control_behind_what_ended_the_request_before_it(tmp_path: Path) -> None:
    """The line that ends the request is named, with the line that refuses it on the other side."""
    closed = '<Directory "@/htdocs">\nRequire all denied\n</Directory>\n'
    moved = "Redirect /a.txt http://there.example/b"
    key = changed(tmp_path, ("2.4", f"{moved}\n"), ("2.4", closed), "/a.txt")
    assert key.what.startswith("status 302 -> 403")
    assert lines_of(key) == ([moved], ["Require all denied"]) and key.is_of_access


def test_lines_without_a_host_of_several_virtual_hosts_are_not_decided(tmp_path: Path) -> None:
    second = f"{CONF}<VirtualHost *:80>\nServerName b.example\n</VirtualHost>\n"
    lines = [line("/index.html"), line("/none", status=404), line("http://a.example/", status=200)]

    def unknown(text: str, host: str = "", begin: str = "") -> list[UnknownItem]:
        replayer = Replayer(work_of(tmp_path, text, text, host=host))
        tally = replayed(replayer, *(f"{begin}{each}" for each in lines))
        items = Summary("old", "new", ("log",), tally).scope.items
        return [item for item in items if item.kind is UnknownKind.ASSUMED]

    (found,) = unknown(second)
    assert found.matters
    assert found.subject == "2 of 3 requests: the lines name no host, and 2 virtual hosts log in their format"
    assert found.consequence == "taken as requests for localhost"
    assert found.advice == "--host NAME names the one that logged them: a.example, b.example"
    assert not unknown(second, host="b.example")
    assert not unknown(second, begin="b.example ")
    assert not unknown(CONF)


def test_php_fpm_in_the_place_of_the_module_is_no_change(tmp_path: Path) -> None:
    """Neither is run: both answer with the output of the same script."""
    load = "LoadModule php_module modules/libphp.so\n"
    old = f"{load}{CONF}AddHandler application/x-httpd-php .php\n"
    handler = 'SetHandler "proxy:unix:/run/php-fpm.sock|fcgi://localhost"'
    fpm = f'{CONF}<FilesMatch "\\.php$">\n{handler}\n</FilesMatch>\n'
    new = f"LoadModule proxy_fcgi_module modules/mod_proxy_fcgi.so\n{fpm}"
    replayer = replayer_of(tmp_path, old, new)
    (tmp_path / "htdocs/x.php").write_text("<?php\n")
    log = write_log(tmp_path, [line("/x.php"), line("/none.php", status=404)])
    tally = replayer.run(next(iter(pieces_of([log]))))
    assert tally.requests == 2 and not tally.changes
    assert {(before, after) for _, before, after in tally.statuses} == {(0, 0), (404, 404)}


OF_TLS = (
    "LoadModule log_config_module modules/mod_log_config.so\nLoadModule ssl_module modules/mod_ssl.so\n"
    "Listen 443\n<VirtualHost _default_:443>\nServerName t.example\nTransferLog logs/ssl\nSSLEngine on\n"
    "SSLCertificateFile none\nRedirect /closed {}\n</VirtualHost>\n"
)


def test_lines_without_a_host_are_of_the_only_host_that_logs_in_their_format(tmp_path: Path) -> None:
    """They are asked at its address with TLS, and so are lines that name it; other lines are not."""
    old, new = (f"{CONF}{OF_TLS.format(target)}" for target in ("/a", "/b"))
    common = line("/closed").replace(' "-" "Mozilla/4.08 [en]"', "")

    def asked(text: str, host: str = "") -> tuple[list[str], dict[str, int]]:
        tally = replayed(Replayer(work_of(tmp_path, old, new, host=host)), text)
        examples = [example for change in tally.changes.values() for example in change.examples]
        return [example.partition(" from ")[0] for example in examples], tally.taken_for

    examples, taken = asked(common)
    assert examples == ["GET https://t.example/closed"]
    [(sentence, number)] = taken.items()
    assert number == 1
    assert sentence.startswith(
        "taken for https://t.example, the only virtual host that logs in this format ("
    )
    assert asked(f"t.example:443 {line('/closed')}") == (["GET https://t.example/closed"], {})
    assert asked(line("/closed")) == ([], {})
    assert asked(common, host="a.example") == ([], {})


def test_pieces_of_other_formats_ask_other_hosts(tmp_path: Path) -> None:
    """A replayer remembers no answer of another host from an earlier piece."""
    old, new = (f"{CONF}{OF_TLS.format(target)}" for target in ("/a", "/b"))
    replayer = Replayer(work_of(tmp_path, old, new, host=""))
    common = line("/closed").replace(' "-" "Mozilla/4.08 [en]"', "")
    changes = [replayed(replayer, text).changed for text in (line("/closed"), common, line("/closed"))]
    assert changes == [0, 1, 0]
