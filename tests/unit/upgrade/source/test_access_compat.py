"""The sentence about mod_access_compat: loaded, not loaded, or not known, and what follows."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.upgrade.config_trees import config_tree, fragments, laid

from whimbrel.config.options import LoadOptions
from whimbrel.upgrade.model import UpgradeOptions
from whimbrel.upgrade.source.access_compat import AccessCompat, access_compat, access_compat_sentence
from whimbrel.upgrade.source.reading import Sources, read_config_tree

HOST = "LoadModule authz_host_module modules/mod_authz_host.so\n"
COMPAT = "LoadModule access_compat_module modules/mod_access_compat.so\n"
ORDER = "<Directory />\nOrder deny,allow\n</Directory>\n"
OLD = "<IfVersion < 2.4>\nOrder deny,allow\n</IfVersion>\n"
TESTED = "<IfModule mod_access_compat.c>\nOrder deny,allow\n</IfModule>\n"


@pytest.mark.parametrize(
    ("text", "state"),
    [
        (HOST + COMPAT, True),
        (HOST, False),
        ("", None),
        (f"{HOST}<IfDefine X>\n{COMPAT}</IfDefine>\n", None),
        (f"{HOST}<IfVersion < 2.4>\n{COMPAT}</IfVersion>\n", False),
    ],
)
def test_states(tmp_path: Path, text: str, state: bool | None) -> None:
    tree = config_tree(tmp_path, {"conf/httpd.conf": text + ORDER})
    assert access_compat(tree).is_loaded is state
    sentence = access_compat_sentence(tree)
    words = {
        True: "the text loads it for 2.4 (",
        False: "which no line loads: 2.4 does not start at",
        None: "not known whether 2.4 has it",
    }
    assert words[state] in sentence
    line = text.count("\n") + 1 + ORDER[: ORDER.index("Order")].count("\n")
    assert (f"does not start at conf/httpd.conf:{line} (Order)" in sentence) is (state is not True)


@pytest.mark.parametrize("text", ["", OLD, TESTED])
def test_no_line_needs_it(tmp_path: Path, text: str) -> None:
    assert access_compat_sentence(config_tree(tmp_path, {"conf/httpd.conf": HOST + text})) == ""


def test_a_file_alone(tmp_path: Path) -> None:
    tree = fragments(tmp_path, {".htaccess": "Order deny,allow\n"})
    assert access_compat(tree) == AccessCompat(None)
    sentence = f"without it 2.4 answers 500 where it reads {tmp_path}/.htaccess:1 (Order)"
    assert access_compat_sentence(tree).endswith(sentence)


def test_the_first_line_of_the_file_is_named(tmp_path: Path) -> None:
    # apache2 without the module: .htaccess: Invalid command 'Satisfy'
    tree = fragments(tmp_path, {".htaccess": "Require valid-user\nSatisfy any\nOrder deny,allow\n"})
    assert access_compat_sentence(tree).endswith(f"reads {tmp_path}/.htaccess:2 (Satisfy)")


@pytest.mark.parametrize(
    ("main", "start", "end"),
    [
        (
            COMPAT + ORDER,
            "the text loads it for 2.4 (",
            "which Order, Allow, Deny and Satisfy need; not known for files that no Include reads",
        ),
        (
            HOST + ORDER,
            "Order, Allow, Deny and Satisfy need",
            "3 (Order); not known for files that no Include reads",
        ),
        (COMPAT, "not known", "not known whether 2.4 has it for files that no Include reads"),
    ],
)
def test_a_file_beside_the_server_has_its_own_modules(
    main: str, start: str, end: str, tmp_path: Path
) -> None:
    root = laid(tmp_path, {"conf/httpd.conf": main, "other.conf": ORDER})
    options = LoadOptions(server_root=str(root))
    tree = read_config_tree(Sources(options=options, fragments=(f"{root}/other.conf",)), UpgradeOptions())
    sentence = access_compat_sentence(tree)
    assert sentence.removeprefix("mod_access_compat: ").startswith(start) and sentence.endswith(end)
