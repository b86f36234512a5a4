"""The interpreter of the bench and of the servers in Python: Debian's own where it fits.

Debian's is an optimized build (profile-guided, linked statically); others are often plain, 5 to 8 % slower.
Its environment is the directory `.venv-bench`, whose packages are those of the present environment.
"""

from __future__ import annotations

import os
import platform
import site
import subprocess
import sys
import sysconfig
from importlib.metadata import entry_points
from pathlib import Path

DEBIAN = Path("/usr/bin/python3")
ENVIRONMENT = Path(__file__).parents[1] / ".venv-bench"
QUERY = "import sys, sysconfig; print(sysconfig.get_config_var('SOABI'), *sys.version_info[:2])"
SCRIPT = "#!{python}\nimport sys\nfrom {module} import {name}\nsys.exit({name}())\n"
LINK = "present.pth"  # adds the present packages
PROGRAMS = ("whimbrel", "granian", "gunicorn")  # distributions whose programs are needed


def is_debian() -> bool:
    return sys.base_prefix == "/usr" and Path("/etc/debian_version").is_file()


def described() -> str:
    """Return version and build of this interpreter."""
    if is_debian():
        whose = "Debian's own build"
    elif "--enable-optimizations" in (sysconfig.get_config_var("CONFIG_ARGS") or ""):
        whose = "not Debian's, optimized build"
    else:
        whose = "not Debian's, build without --enable-optimizations"
    build = ", ".join(platform.python_build())
    return (
        f"{platform.python_implementation()} {platform.python_version()} ({build}, "
        f"{platform.python_compiler()}): {whose}"
    )


def obstacle(debian: Path) -> str:
    """Return why the present packages cannot be used by *debian*; empty if they can."""
    if not debian.is_file():
        return f"there is no {debian}"
    mine = [str(sysconfig.get_config_var("SOABI")), *map(str, sys.version_info[:2])]
    found = subprocess.run([debian, "-c", QUERY], capture_output=True, text=True, check=False).stdout.split()
    if found != mine:
        return f"packages are for {mine[0]}, {debian} is {found[0] if found else 'not usable'}"
    return ""


def make(folder: Path, debian: Path) -> Path:
    """Make an environment of *debian* with the present packages, without network; return its interpreter.

    Raises OSError or CalledProcessError if that fails.
    """
    python = folder / "bin" / "python"
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))
    present = [path for path in site.getsitepackages() if Path(path).is_dir()]
    lines = "".join(f"import site; site.addsitedir({path!r})\n" for path in present)
    if (packages / LINK).is_file() and (packages / LINK).read_text() == lines:
        return python
    argv = [str(debian), "-m", "venv", "--clear", "--without-pip", str(folder)]
    subprocess.run(argv, check=True, capture_output=True, text=True)
    for entry in entry_points(group="console_scripts"):
        if entry.dist is not None and entry.dist.name in PROGRAMS:
            program = folder / "bin" / entry.name
            program.write_text(SCRIPT.format(python=python, module=entry.module, name=entry.attr))
            program.chmod(0o755)
    (packages / LINK).write_text(lines)  # last: complete with it
    return python


def switch(argv: list[str], debian: Path = DEBIAN, folder: Path = ENVIRONMENT) -> str:
    """Replace this process by *argv* run by Debian's interpreter; return the reason if that is impossible."""
    if is_debian():
        return ""
    reason = obstacle(debian)
    if not reason:
        try:
            python = make(folder, debian)
            subprocess.run([python, "-c", "import uvloop, rich"], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as problem:
            reason = f"{folder.name} cannot be made: {problem}"
        else:
            os.execv(python, [str(python), *argv])
    return reason
