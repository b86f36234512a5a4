"""What the service of a distribution passes to httpd beside the configuration: variables and options.

Files of variables are read as text, no shell runs: Debian's and httpd's envvars, Red Hat's
/etc/sysconfig/httpd, SUSE's /etc/sysconfig/apache2, Gentoo's and Alpine's /etc/conf.d/apache2, FreeBSD's
rc.conf, units of systemd with their EnvironmentFile, and OpenShift's directories env. Only a command that
serves runs envvars in sh, as apache2ctl does.
"""

from __future__ import annotations

import errno
import os
import select
import time
from collections.abc import Iterator, Mapping

from whimbrel.base.errors import UndecidedVariables
from whimbrel.base.file_reading import read_variables
from whimbrel.base.latin1 import from_system
from whimbrel.base.layouts import SUSE
from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.base.programs import require_programs
from whimbrel.base.static_typing import Final
from whimbrel.config.servers import FoundServer, is_debian

OPTIONS: Final = ("OPTIONS", "APACHE2_OPTS", "APACHE_ARGUMENTS", "apache24_flags", "apache22_flags")
"""Variables that have options of httpd's command line."""
UNITS: Final = ("httpd.service", "apache2.service")
UNIT_DIRECTORIES: Final = ("usr/lib/systemd/system", "lib/systemd/system", "etc/systemd/system")
"""Directories of units, the least important first."""
GENERATED: Final = "/etc/apache2/sysconfig.d"
"""Directory of the files that SUSE's start script writes from /etc/sysconfig/apache2."""
SHELL_SECONDS: Final = 30
"""Time of sh for envvars, whose programs may look names up."""
MAX_FILES: Final = 64
"""Files that are read of one kind."""


@dataclass(slots=True)
class ServiceSettings:
    """Variables and options of a service.

    Attributes:
        environment: variables of `${NAME}`, those of this process included.
        defines: the names of -D.
        before: directives of -C; `after`: of -c.
        overlay: files that the start script of a distribution writes, where they are missing.
        files: the files that were read.
        undecided: parts of them that only a shell can carry out.
    """

    environment: dict[str, str]
    defines: list[str] = field(default_factory=list)
    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    overlay: dict[str, bytes] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    undecided: list[UndecidedVariables] = field(default_factory=list)


def service_settings(
    server: FoundServer, environment: Mapping[str, str], envvars: str = "", *, reads_envvars: bool = True
) -> ServiceSettings:
    """Return the settings of *server* that change *environment*; raises OSError if *envvars*, the file that
    the user named, cannot be read.
    """
    found = ServiceSettings(dict(environment))
    named = envvars or envvars_of(server)
    if named and reads_envvars:
        _read_shell(found, named, {"APACHE_CONFDIR": server.root})
        _take_options(found, found.environment)
    if server.layout is None:
        return found
    if server.image or server.path == server.layout.file:
        path = server.layout.service_file
        if path and os.path.isfile(server.image + path):
            _read_shell(found, server.image + path, {}, exports_all=True)
        for unit in _unit_files(server.image):
            _read_unit(found, unit, server.image)
    _read_directories(found, server)
    _take_options(found, found.environment)
    _generate(found, server)
    return found


def settings_to_serve(server: FoundServer, envvars: str = "") -> ServiceSettings:
    """Return the settings as a start script has them: sh carries out envvars; raises OSError."""
    named = envvars or envvars_of(server)
    environment = sourced_envvars(named, server.root) if named else os.environ
    found = service_settings(server, environment, "", reads_envvars=False)
    _take_options(found, found.environment)
    return found


def envvars_of(server: FoundServer) -> str:
    """Return the file of variables beside the configuration; "" for none."""
    own = os.path.join(server.root, "envvars" if is_debian(server.root) else "bin/envvars")
    if not os.path.isfile(own):
        own = os.path.join(server.root, "bin/envvars")
    return own if os.path.isfile(own) else ""


def _read_shell(
    found: ServiceSettings, path: str, more: Mapping[str, str], *, exports_all: bool = False
) -> None:
    """Read a file of sh assignments; raises OSError."""
    from whimbrel.config.envvars import read  # most configurations have none

    result = read(path, {**found.environment, **more}, exports_all=exports_all)
    found.environment = result.values
    found.undecided += result.undecided
    found.files.append(path)


# units of systemd ---------------------------------------------------------------------------------
def _unit_files(image: str) -> Iterator[str]:
    """Yield the units and their drop-ins, the least important first."""
    count = 0
    for unit in UNITS:
        for directory in UNIT_DIRECTORIES:
            path = f"{image}/{directory}/{unit}"
            drop_ins = f"{path}.d"
            names = sorted(os.listdir(drop_ins)) if os.path.isdir(drop_ins) else []
            candidates = [path, *(f"{drop_ins}/{name}" for name in names if name.endswith(".conf"))]
            for candidate in candidates:
                if os.path.isfile(candidate) and count < MAX_FILES:
                    count += 1
                    yield candidate


def _read_unit(found: ServiceSettings, path: str, image: str) -> None:
    """Read Environment, EnvironmentFile and the options of ExecStart of one unit file."""
    for line in _lines(path):
        name, _, value = line.partition("=")
        name, value = name.strip(), value.strip()
        if name == "Environment":
            for word in _words(value):
                key, equals, text = word.partition("=")
                if equals and _is_name(key):
                    found.environment[key] = text
        elif name == "EnvironmentFile":
            _read_environment_file(found, value, image)
        elif name == "ExecStart":
            _take_words(found, _words(value)[1:])
    found.files.append(path)


def _read_environment_file(found: ServiceSettings, value: str, image: str) -> None:
    """Read NAME=VALUE lines as systemd does: quotes count, variables are not expanded."""
    path = image + value.removeprefix("-")
    if not os.path.isfile(path):
        return
    for line in _lines(path):
        key, equals, text = line.partition("=")
        if equals and _is_name(key.strip()):
            found.environment[key.strip()] = " ".join(_words(text)) if text[:1] in "\"'" else text.strip()
    found.files.append(path)


def _is_name(text: str) -> bool:
    """Return True for the name of a variable; systemd ignores other assignments."""
    return text.isascii() and text.isidentifier()


def _lines(path: str) -> Iterator[str]:
    """Yield the lines of a file that are no comments; a backslash at the end continues a line."""
    try:
        text = read_variables(path)
    except OSError:
        return
    for line in text.replace("\\\n", " ").split("\n"):
        if line.strip() and line.lstrip()[0] not in "#;[":
            yield line.strip()


# options ------------------------------------------------------------------------------------------
def _words(text: str) -> list[str]:
    import shlex  # most configurations have no options

    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def _take_options(found: ServiceSettings, variables: Mapping[str, str]) -> None:
    for name in OPTIONS:
        if variables.get(name):
            _take_words(found, _words(variables[name]))
    for word in _words(variables.get("APACHE_SERVER_FLAGS", "")):
        _add(found.defines, word.removeprefix("-D"))


def _take_words(found: ServiceSettings, words: list[str]) -> None:
    """Take -D, -C and -c of httpd's command line; a variable stands for options that are taken from it."""
    lists = {"-D": found.defines, "-C": found.before, "-c": found.after}
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        target = lists.get(word[:2])
        if target is None:
            continue
        value = word[2:]
        if not value and at < len(words):
            value = words[at]
            at += 1
        if value and value != "FOREGROUND":
            _add(target, value)


def _add(values: list[str], value: str) -> None:
    if value and value not in values:
        values.append(value)


# files of single distributions --------------------------------------------------------------------
def _read_directories(found: ServiceSettings, server: FoundServer) -> None:
    """Read OpenShift's variables: one file for each, in directories env of the gear and its cartridges."""
    if server.layout is None or not server.layout.environment:
        return
    above = os.path.dirname(os.path.abspath(server.path))
    while above not in ("/", server.image):
        directory = os.path.join(above, server.layout.environment)
        names = sorted(os.listdir(directory))[:MAX_FILES] if os.path.isdir(directory) else []
        for name in filter(_is_name, names):
            try:
                text = read_variables(os.path.join(directory, name))
            except OSError:
                continue
            found.environment.setdefault(name, text.strip("\n"))
            found.files.append(os.path.join(directory, name))
        above = os.path.dirname(above)


def _generate(found: ServiceSettings, server: FoundServer) -> None:
    """Add the files that SUSE's start script writes, as far as they are missing."""
    modules = found.environment.get("APACHE_MODULES")
    if server.layout is None or server.layout.build != SUSE or modules is None:
        return
    lines = [f"LoadModule {_module_line(word)}" for word in modules.split()]
    included = [f"Include {path}" for path in found.environment.get("APACHE_CONF_INCLUDE_FILES", "").split()]
    for name, text in (("loadmodule.conf", lines), ("global.conf", []), ("include.conf", included)):
        path = _in_copy(server, f"{GENERATED}/{name}")
        if path and not os.path.exists(path):
            found.overlay[from_system(path)] = os.fsencode("".join(f"{line}\n" for line in text))


def _module_line(word: str) -> str:
    """Return the arguments of LoadModule for a word of APACHE_MODULES: a name, or the path of a module."""
    name = word.rpartition("/")[2].removesuffix(".so").removeprefix("mod_")
    path = word if "/" in word else f"/usr/lib64/apache2/mod_{name}.so"
    return f"{name}_module {path}"


def _in_copy(server: FoundServer, path: str) -> str:
    if server.image:
        return server.image + path
    for original, place in server.copied:
        if path.startswith(f"{original}/"):
            return place + path[len(original) :]
    return path if not server.copied else ""


# start scripts ------------------------------------------------------------------------------------
def sourced_envvars(path: str, root: str) -> dict[str, str]:
    """Return the environment after sh(1) has read *path*, as apache2ctl reads it; raises OSError.

    For commands that serve; others read the file as text (`config/envvars.py`).
    """
    with open(path, "rb"):
        pass
    output = _output_of(
        ["/bin/sh", "-c", '. "$0" >/dev/null; exec /usr/bin/env -0', path if "/" in path else f"./{path}"],
        {**os.environ, "APACHE_CONFDIR": root},
        path,
    )
    pairs = (entry.partition(b"=") for entry in output.split(b"\0") if b"=" in entry)
    return {
        os.fsdecode(key): os.fsdecode(value) for key, _, value in pairs if key not in (b"_", b"PWD", b"SHLVL")
    }


def _output_of(argv: list[str], environment: dict[str, str], path: str) -> bytes:
    """Return the output of a program that reads *path*; raises OSError if it fails or does not end.

    Importing subprocess takes longer than checking a small configuration.
    """
    require_programs()
    ours, theirs = os.pipe()
    try:
        pid = os.posix_spawn(argv[0], argv, environment, file_actions=[(os.POSIX_SPAWN_DUP2, theirs, 1)])
    finally:
        os.close(theirs)
    try:
        output = _read_until(ours, time.monotonic() + SHELL_SECONDS)
    finally:
        os.close(ours)
    if output is None:
        from signal import SIGKILL  # a slow import

        os.kill(pid, SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if output is None:
        raise OSError(errno.ETIMEDOUT, f"sh did not end within {SHELL_SECONDS} seconds", path)
    if status:
        raise OSError(errno.EINVAL, f"sh ended with status {status}", path)
    return output


def _read_until(handle: int, end: float) -> bytes | None:
    """Return what *handle* gives until it is closed; None if it is open at *end* (monotonic)."""
    pieces: list[bytes] = []
    poller = select.poll()
    poller.register(handle)
    while poller.poll(max(0.0, end - time.monotonic()) * 1000):
        piece = os.read(handle, 1 << 16)
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)
    return None
