"""The steps in which two explanations differ."""

from __future__ import annotations

from pathlib import Path

from tests.unit.explain.explained_site import CONF, explained, old_side, side_of

from whimbrel.explain.changes import ChangedStep, changed_steps, deciding, innermost
from whimbrel.explain.step import ExplanationStep, RequestExplanation
from whimbrel.explain.text import have_equal_answers


def test_moved_lines_are_no_difference(tmp_path: Path) -> None:
    before = explained(side_of(tmp_path), "/")
    after = explained(side_of(tmp_path, f"# moved\n\n{CONF}"), "/")
    assert list(changed_steps(before, after)) == []


def test_another_server_root_is_no_difference(tmp_path: Path) -> None:
    """The sections, the files and the lines of two copies of a site differ by the directory alone."""
    roots = [tmp_path / name for name in ("old", "old-2.4")]
    sides = []
    for root in roots:
        root.mkdir()
        sides.append(side_of(root, f'ServerRoot "{root}"\n{CONF}'))
    before, after = (explained(side, "/private/x.html", host="a.example", user="ann") for side in sides)
    assert before.status == 200 and any(str(roots[0]) in step.what for step in before.all())
    assert list(changed_steps(before, after)) == []


def test_a_file_read_in_the_place_of_another_is_that_file() -> None:
    """`upgrade --out` writes a .htaccess file below its own root, for the one beside the documents."""
    step = ExplanationStep(".htaccess", "/srv/a/.htaccess", "applies")
    before = RequestExplanation("GET /", "2.2", 200, steps=(step,), roots=("/etc/httpd",))
    copies = {"/srv/a/.htaccess": "/new/srv/a/.htaccess"}
    copied = ExplanationStep(".htaccess", "/new/srv/a/.htaccess", "applies")
    after = RequestExplanation("GET /", "2.4", 200, steps=(copied,), roots=("/new",), copies=copies)
    assert list(changed_steps(before, after)) == []
    other = RequestExplanation("GET /", "2.4", 200, steps=(copied,), roots=("/new",))
    assert list(changed_steps(before, other)) == [ChangedStep(step, None), ChangedStep(None, copied)]


def test_a_path_outside_the_roots_is_a_difference(tmp_path: Path) -> None:
    conf = "Alias /files @ROOT@/nothing"
    before = explained(side_of(tmp_path, CONF.replace(conf, f"Alias /files {tmp_path}2/a")), "/files/x")
    after = explained(side_of(tmp_path, CONF.replace(conf, f"Alias /files {tmp_path}/a")), "/files/x")
    assert [one.old and one.old.kind for one in changed_steps(before, after)][:1] == ["mapping"]


def test_the_innermost_steps_are_found(tmp_path: Path) -> None:
    changed = CONF.replace("Require ip 10.0.0.0/8", "Require ip 192.0.2.0/24")
    before = explained(side_of(tmp_path), "/private/x.html", host="a.example")
    after = explained(side_of(tmp_path, changed), "/private/x.html", host="a.example")
    pairs = [(one.old and one.old.what, one.new and one.new.what) for one in changed_steps(before, after)]
    assert ("Require ip 10.0.0.0/8", None) in pairs and (None, "Require ip 192.0.2.0/24") in pairs
    assert not any("mod_rewrite" in (what or "") for pair in pairs for what in pair)


def test_a_step_with_parts_is_no_innermost_one_if_both_sides_have_it() -> None:
    part = ExplanationStep("access", "Require all denied")
    whole = ExplanationStep("access", "access", children=(part,))
    sent = ExplanationStep("response", "GET /", children=(part,))
    kept = [
        *(ChangedStep(whole, None), ChangedStep(None, whole)),
        *(ChangedStep(part, part), ChangedStep(part, whole), ChangedStep(sent, sent)),
    ]
    assert innermost([ChangedStep(whole, whole), *kept, ChangedStep(whole, part)]) == kept


def test_another_media_type_is_another_answer(tmp_path: Path) -> None:
    """2.2 gives a file of an unknown extension the type of DefaultType, 2.4 gives it none."""
    conf = 'DocumentRoot "@ROOT@/htdocs"\nTypesConfig "@ROOT@/mime.types"\nDefaultType text/plain\n'
    sides = old_side(tmp_path, conf), side_of(tmp_path, conf)
    (tmp_path / "htdocs/NOTES").write_text("notes\n")
    old, new = (explained(side, "/NOTES") for side in sides)
    assert (old.status, new.status) == (200, 200)
    changes = list(changed_steps(old, new))
    assert not have_equal_answers(old, new, changes)
    details = [
        (one.old and one.old.detail, one.new and one.new.detail)
        for one in innermost(changes)
        if one.old is not None and one.old.kind == "response"
    ]
    assert details == [("type text/plain", "")]


def test_the_steps_that_can_decide() -> None:
    """Filters, variables and log lines follow from another status; a check that declines decides nothing."""
    of_old = (
        ExplanationStep("access", "mod_ssl (check_user_id)", "declined"),
        ExplanationStep("access", "mod_auth_basic (check_user_id)", "denied"),
        ExplanationStep("filters", "core", "filters DEFLATE"),
        ExplanationStep("response", "GET /", "401 Unauthorized"),
    )
    of_new = (
        ExplanationStep("access", "mod_authz_core (access_checker_ex)", "granted"),
        ExplanationStep("fix-ups", "mod_ssl", "env HTTPS on"),
        ExplanationStep("log", "File does not exist: /x"),
        ExplanationStep("response", "GET /", "404 Not Found"),
    )
    before = RequestExplanation("GET /", "2.2", 401, steps=of_old)
    after = RequestExplanation("GET /", "2.4", 404, steps=of_new)
    found = deciding(list(changed_steps(before, after)), (before, after))
    steps = [step for one in found for step in (one.old, one.new) if step is not None]
    assert set(steps) == {of_old[1], of_old[3], of_new[0], of_new[3]}
    # both versions let the client in, by modules of other names: what differs is the filter
    granted = tuple(
        ExplanationStep("access", name, "granted") for name in ("mod_authz_host", "mod_authz_core")
    )
    before = RequestExplanation("GET /", "2.2", 200, steps=(granted[0], of_old[2]))
    after = RequestExplanation("GET /", "2.4", 200, steps=(granted[1],))
    found = deciding(list(changed_steps(before, after)), (before, after))
    assert found == [ChangedStep(of_old[2], None)]
