"""Cases of httpd's utilities, recorded from those of 2.4.71: utilities/*.json; how they run and are compared.

A case has argv, stdin, files (name -> text, [text, mode], "@link target", or a directory's name with a
slash), umask, tz, and the recorded result: rc, out, err and after (the files: [mode, text]). @USAGE@ is the
usage text. Hashes with a random salt are @A@ (apr1), @Bnn@ (bcrypt), @Sn...@ (sha-crypt) and @C@ (crypt); @E@
is a time.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from tests.support import warm_command

Case = dict[str, Any]

HERE = Path(__file__).parent / "utilities"
MASKS = (
    (r"\$apr1\$[./A-Za-z0-9]{8}\$[./A-Za-z0-9]{22}", "@A@"),
    (r"\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}", r"@B\1@"),
    (
        r"\$(5|6)\$(rounds=\d+\$)?[./A-Za-z0-9]{16}\$(?:[./A-Za-z0-9]{43}|[./A-Za-z0-9]{86})(?![./A-Za-z0-9])",
        r"@S\1\2@",
    ),
    (r"(?<=:)[./A-Za-z0-9]{13}(?=$|\n|:)", "@C@"),
    (r"1[789]\d{8}", "@E@"),
)


def cases(name: str) -> list[Case]:
    """Return the recorded cases of a utility."""
    found: list[Case] = json.loads((HERE / f"{name}.json").read_text())
    return found


def title(case: Case) -> str:
    """Return the name of a test."""
    return " ".join(word[:12] for word in case["argv"])


def masked(text: str) -> str:
    """Return *text* without the parts that change from run to run."""
    for pattern, replacement in MASKS:
        text = re.sub(pattern, replacement, text)
    return text


def build(folder: Path, files: dict[str, Any]) -> None:
    """Write the files of a case."""
    for name, value in files.items():
        path = folder / name
        if name.endswith("/"):
            path.mkdir()
        elif isinstance(value, str) and value.startswith("@link "):
            path.symlink_to(value.removeprefix("@link "))
        else:
            text, mode = value if isinstance(value, list) else (value, 0o644)
            path.write_bytes(text.encode("latin-1"))
            path.chmod(mode)


def call(
    folder: Path,
    argv: list[str],
    stdin: str = "",
    umask: int = 0o022,
    tz: str = "UTC",
    *,
    awaits_output: bool = False,
) -> tuple[int, str, str]:
    """Return exit status, standard output and standard error of a utility without a terminal."""
    done = warm_command.run(
        argv,
        cwd=folder,
        typed=stdin.encode("latin-1"),
        umask=umask,
        environment={**os.environ, "TZ": tz},
        entry=warm_command.utility,
        awaits_output=awaits_output,
    )
    return done.returncode, done.stdout.decode("latin-1"), done.stderr.decode("latin-1")


def state(folder: Path) -> dict[str, Any]:
    """Return the files below *folder* in the form of a case's `after`."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = masked(str(path.relative_to(folder)))
        if path.is_symlink():
            found[name] = f"-> {os.readlink(path)}"
        elif path.is_dir():
            found[name] = "dir"
        else:
            found[name] = ["%o" % (path.stat().st_mode & 0o7777), masked(path.read_bytes().decode("latin-1"))]
    return found


def same(folder: Path, case: Case, usage: str) -> bool:
    """Run *case* in *folder* and assert that everything is as recorded."""
    build(folder, case.get("files", {}))
    code, out, err = call(
        folder,
        case["argv"],
        case.get("stdin", ""),
        case.get("umask", 0o022),
        case.get("tz", "UTC"),
        awaits_output="-p" in case["argv"] and bool(case["out"]),  # of the program after a rotation
    )
    assert masked(err) == case["err"].replace("@USAGE@", usage)
    assert (code, masked(out)) == (case["rc"], case["out"])
    if "after" in case:
        assert state(folder) == case["after"]
    return True
