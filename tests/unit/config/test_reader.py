"""Reading files into a tree.  Every expected text is that of 2.4.71 or 2.2.34 for the same lines (@ is the
server root).
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.site import Site

from whimbrel.config.options import LoadOptions
from whimbrel.verify.loading import load_side

BAD = "UseCanonicalName banana"
REASON = "parameter must be 'on', 'off', or 'dns'"


def at(line: int, reason: str = REASON, file: str = "@/conf/httpd.conf") -> str:
    return f"AH00526: Syntax error on line {line} of {file}:\n{reason}"


def reading(line: int, reason: str) -> str:
    return f"apache2: Syntax error on line {line} of @/conf/httpd.conf: {reason}"


NESTING: list[tuple[str, str]] = [
    ("<IfDefine X>", reading(1, "Expected </IfDefine> before end of configuration")),
    ("<IfDefine X>\n</Bogus>\n", reading(1, "Expected </IfDefine> but saw </Bogus>")),
    ("KeepAlive On\n</IfDefine>\n", reading(2, "</IfDefine> without matching <IfDefine> section")),
    ("<Directory />\n", reading(1, "@/conf/httpd.conf:1: <Directory> was not closed.")),
    ("<?xml?> On\n", reading(1, "@/conf/httpd.conf:1: <?xml?> was not closed.")),
    ("<Virtualhost *> On\n", reading(1, "@/conf/httpd.conf:1: <VirtualHost> was not closed.")),
    ("<Directory />\n\n</Location>\n", reading(3, "Expected </Directory> but saw </Location>")),
    ("<IfVersion >= 2.2>\n</IfVersion\n", reading(2, "</IfVersion without matching <IfVersion section")),
    ("<IfVersion >= 2.2>", "Syntax OK"),
    ("<IfModule mod_so.c>\n<Directory />\n", "Syntax OK"),
    ("<IfDefine X> text\n</IfDefine>\n", "Syntax OK"),
    (f"\n<IfDefine !X>\n\n{BAD}\n</IfDefine>\n", at(4)),
    (f"<IfModule nosuch.c>\n<Directory />\n{BAD}\n</Directory>\n</ifmodule>\n", "Syntax OK"),
    (f"<IfModule env_module>\n{BAD}\n</IfModule>\n", at(2)),
    (f"<IfModule !mod_env.c>\n{BAD}\n</IfModule>\n", "Syntax OK"),
    ("<IfDefine >\n</IfDefine>\n", reading(1, "<IfDefine> directive requires additional arguments")),
    ("<IfDefine X\n</IfDefine>\n", reading(1, "<IfDefine> directive missing closing '>'")),
]


@pytest.mark.parametrize(("conf", "text"), NESTING)
def test_nesting(tmp_path: Path, conf: str, text: str) -> None:
    assert Site(tmp_path, conf).check() == text


def test_old_dialect_keeps_spelling_and_has_no_codes(tmp_path: Path) -> None:
    site = Site(tmp_path, "<Virtualhost *> On\n")
    assert site.check("2.2") == (
        "httpd: Syntax error on line 1 of @/conf/httpd.conf: @/conf/httpd.conf:1: <Virtualhost> was not "
        "closed."
    )
    assert (
        Site(tmp_path, f"{BAD}\n").check("2.2") == f"Syntax error on line 1 of @/conf/httpd.conf:\n{REASON}"
    )


VARIABLES: list[tuple[str, str]] = [
    ('Define X "a b"\nOptions ${X}\n', at(2, "Illegal option a")),
    ('Define X "a b"\nOptions "${x}"\n', at(2, "Illegal option a b")),
    ("Define X val\nOptions \\${X}\n", at(2, "Illegal option \\\\val")),
    (
        "Options ${Y}\n",
        "[core:warn] AH00111: Config variable ${Y} is not defined\n" + at(1, "Illegal option ${Y}"),
    ),
    ("Define FO:O\n", reading(1, "Variable name must not contain ':'")),
    (f"Define foo\n<IfDefine FOO>\n{BAD}\n</IfDefine>\n", "Syntax OK"),
    (f"Define FOO\nUnDefine foo\n<IfDefine FOO>\n{BAD}\n</IfDefine>\n", at(4)),
    (f"<Directory />\nDefine FOO\n</Directory>\n<IfDefine FOO>\n{BAD}\n</IfDefine>\n", at(5)),
]


@pytest.mark.parametrize(("conf", "text"), VARIABLES)
def test_variables(tmp_path: Path, conf: str, text: str) -> None:
    assert Site(tmp_path, conf).check() == text


def test_defines_of_the_command_line_are_exact_and_no_variables(tmp_path: Path) -> None:
    site = Site(tmp_path, f"<IfDefine FOO>\n{BAD}\n</IfDefine>\nOptions Bogus${{X}}\n")
    assert site.check(defines=("FOO",)).endswith(at(2))
    assert site.check(defines=("fOO", "X=val")).endswith(at(4, "Illegal option Bogus${X}"))


def test_environment_fills_variables(tmp_path: Path) -> None:
    assert Site(tmp_path, "Options ${HOME_X}\n").check(environment={"HOME_X": "Zed"}) == at(
        1, "Illegal option Zed"
    )


def test_deep_nesting(tmp_path: Path) -> None:
    conf = "<IfModule mod_so.c>\n" * 400 + f"{BAD}\n" + "</IfModule>\n" * 400
    assert Site(tmp_path, conf).check() == at(401)


@pytest.mark.parametrize("depth", [999, 1000])
@pytest.mark.parametrize("tag", ["RequireAll", 'If "true"', "Files x"])
def test_the_bound_of_nested_sections(tag: str, depth: int, tmp_path: Path) -> None:
    """Without a bound, 100,000 levels end the process; httpd's ends at about 10,000."""
    inner = f"<{tag}>\n" * depth + f"</{tag.split()[0]}>\n" * depth
    found = Site(tmp_path, f"<Directory />\n{inner}</Directory>\n").check()
    assert ("Sections are nested more than 1000 levels deep" in (found or "")) == (depth == 1000)


def test_included_and_conditional_sections_count_together(tmp_path: Path) -> None:
    inner = "<Files x>\n" * 600 + "</Files>\n" * 600
    (tmp_path / "in.conf").write_text(f"<IfModule mod_so.c>\n{inner}</IfModule>\n")
    once = f"Include {tmp_path}/in.conf\n"
    outside = "<Files y>\n" * 300 + once * 2 + "</Files>\n" * 300
    conf = f"<Directory />\n{outside}</Directory>\n"
    assert "nested" not in (Site(tmp_path, conf).check() or "")
    (tmp_path / "out.conf").write_text("<Files z>\n" * 200 + once + "</Files>\n" * 200)
    conf = conf.replace(once * 2, f"Include {tmp_path}/out.conf\n")
    assert "Sections are nested more than 1000 levels deep" in (Site(tmp_path, conf).check() or "")


def test_command_line_directives_have_their_own_words(tmp_path: Path) -> None:
    site = Site(tmp_path, "")
    start = site.options("2.4").before
    said = "apache2: Syntax error in -C/-c directive: "
    assert (
        site.check(before=(*start, "</Directory>"))
        == said + "</Directory> without matching <Directory> section"
    )
    assert site.check(after=("Include nosuch",)) == (
        said + "Could not open configuration file @/nosuch: No such file or directory"
    )


def test_branches_that_are_not_read(tmp_path: Path) -> None:
    """Manual, core.html: the lines of an <IfDefine> or <IfModule> that is not true are not processed."""
    (tmp_path / "httpd.conf").write_text(
        "<IfDefine A>\n<VirtualHost *:80>\n  Alias /x /y\n  ServerName a.example\n</VirtualHost>\n"
        '<VirtualHost 10.0.0.1:80>\n</VirtualHost>\nInclude "conf/a b.conf"\n</IfDefine>\n'
        "<IfDefine !A>\nListen 80\n</IfDefine>\n<IfModule mod_none.c>\n<IfDefine B>\nInclude x\n</IfDefine>\n"
        "</IfModule>\n"
    )
    found = load_side(LoadOptions(server_root=str(tmp_path), file="httpd.conf"), "2.2").configuration
    assert found is not None
    assert [(one.place.line, one.condition, one.hosts, one.files) for one in found.skipped] == [
        (1, "<IfDefine A>", ("a.example", "10.0.0.1:80"), ("conf/a b.conf",)),
        (13, "<IfModule mod_none.c>", (), ("x",)),
    ]
