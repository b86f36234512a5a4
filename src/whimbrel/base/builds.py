"""Builds of httpd: the modules that are compiled in, and the paths that are used without a directive.

A build is named (`--builtin`) or presumed of a layout (base/layouts.py); config/detected_build.py has the
lines of a text that refute that. Imports nothing: -v, -V and -l run in milliseconds.
"""

from __future__ import annotations

from whimbrel.base.layouts import (
    DEBIAN,
    DEBIAN_LAYOUT,
    SHARED,
    SUSE,
    UPSTREAM,
    UPSTREAM_LAYOUT,
    Layout,
    recognize,
)

AUTO = "auto"
ANY = "any"
ALL = "all"
WINDOWS = "windows"  # shown by a text alone: no name of --builtin
NAMES = (AUTO, DEBIAN, SHARED, UPSTREAM, SUSE, ALL, ANY)  # the values of --builtin, the default first

_DEBIAN_24 = (
    "core.c mod_so.c mod_watchdog.c http_core.c mod_log_config.c mod_logio.c mod_version.c mod_unixd.c"
)
_NONE_22 = "core.c prefork.c http_core.c mod_so.c"
_DEFAULT_22 = (
    "core.c mod_authn_file.c mod_authn_default.c mod_authz_host.c mod_authz_groupfile.c mod_authz_user.c "
    "mod_authz_default.c mod_auth_basic.c mod_include.c mod_filter.c mod_log_config.c mod_env.c "
    "mod_setenvif.c mod_version.c prefork.c http_core.c mod_mime.c mod_status.c mod_autoindex.c mod_asis.c "
    "mod_cgi.c mod_negotiation.c mod_dir.c mod_actions.c mod_userdir.c mod_alias.c mod_so.c"
)
_SOURCES_22 = {UPSTREAM: _DEFAULT_22, ALL: ""}
_SOURCES_24 = {
    SHARED: "core.c mod_so.c http_core.c",
    UPSTREAM: "core.c mod_so.c http_core.c event.c",
    WINDOWS: "core.c mod_so.c http_core.c event.c",
    SUSE: "core.c mod_so.c http_core.c prefork.c mod_unixd.c mod_systemd.c",
    ALL: "",
}
_MPMS_24 = ("prefork", "worker", "event")
_GUARD = b"<IfModule !mpm_event_module>"


class Build:
    """One build of one version.

    Attributes:
        sources: the compiled-in modules in the order of -l; () for every module that has behaviour.
        reason: what shows that the configuration belongs to this build.
        is_detected: the user named no build.
        is_guess: a later line may show that it is another build.
        root: the ServerRoot; `file`, `pid_file`, `error_log`, `types_file` are relative to it.
        document_root: the DocumentRoot; "" for `htdocs` below the ServerRoot.
        run_directory: the DefaultRuntimeDir; "" for `logs` below the ServerRoot.
        suexec: the wrapper program of mod_suexec.
        loads_built_in: LoadModule of a compiled-in module is accepted, as configurations of other builds
            need it; otherwise it is an error.
    """

    def __init__(
        self,
        name: str,
        version: str,
        layout: Layout | None = None,
        reason: str = "",
        *,
        detected: bool = False,
        is_guess: bool = False,
    ) -> None:
        if name == AUTO and version == "2.4":
            name = UPSTREAM  # of no text
        layout = layout or (DEBIAN_LAYOUT if name == DEBIAN and version == "2.4" else UPSTREAM_LAYOUT)
        self.name = name
        self.version = version
        self.layout = layout
        self._presumed_layout = layout  # of the text before its LoadModule lines are read
        self.reason = reason or "named by --builtin"
        self.is_detected = detected
        self.is_guess = is_guess
        self.loads_built_in = detected or name in (ANY, AUTO, WINDOWS)
        self.sources = tuple(_sources(name, version).split())
        self.root = layout.root
        self.types_file = layout.types_file
        self.pid_file = layout.pid_file
        self.file = layout.file.removeprefix(f"{layout.root}/")
        self.error_log = layout.error_log
        self.suexec = layout.suexec
        self.run_directory = layout.run_directory
        self.document_root = layout.document_root
        if not self.loads_built_in:
            self.document_root = layout.document_root or f"{layout.root}/htdocs"

    @property
    def is_shown(self) -> bool:
        """Return True if the text shows this build of 2.4: then advice can be given about its modules."""
        return self.is_detected and not self.is_guess and self.version == "2.4"

    def as_build(self, name: str, reason: str, *, is_guess: bool = False) -> Build:
        """Return the detected build *name*, which a line of the text shows; its layout is Debian's or the
        presumed one."""
        layout = DEBIAN_LAYOUT if name == DEBIAN else self._presumed_layout
        build = Build(name, self.version, layout, reason, detected=True, is_guess=is_guess)
        build._presumed_layout = self._presumed_layout
        return build


def _sources(name: str, version: str) -> str:
    """Return the compiled-in modules: Debian's package, ./configure without options, or "" for all.

    Of 2.2 the default has all but the necessary modules as shared objects.
    """
    if version == "2.2":
        return _SOURCES_22.get(name, _NONE_22)
    return _SOURCES_24.get(name, _DEBIAN_24)


def guarded_mpm(text: bytes) -> str:
    """Return the MPM that *text* loads unless one is compiled in, as `upgrade` writes it; "" for none.

    Such a text has its sections for this MPM: one of another name would not read them.
    """
    start = text.find(_GUARD)
    words = text[start + len(_GUARD) :].split(None, 2)[:2] if start >= 0 else []
    if len(words) < 2 or words[0].lower() != b"loadmodule":
        return ""
    return next((mpm for mpm in _MPMS_24 if words[1] == f"mpm_{mpm}_module".encode()), "")


def presumed(version: str, paths: tuple[str, ...], text: bytes, origin: str = "") -> Build:
    """Return the build that the main file *text* and *paths* (ServerRoot, main file) show before it is read.

    A layout whose builds differ, or none, is httpd's default build: an MPM is compiled in. *origin* states
    how the modules of a 2.2 binary are known.
    """
    found = recognize(paths, text)
    if version == "2.2":
        layout = found.layout if found is not None else None
        return Build(AUTO, version, layout, origin or "derived from the text", detected=True)
    if found is None or not found.layout.build:
        layout = found.layout if found is not None else None
        mpm = guarded_mpm(text)
        reason = f"the text loads {mpm} unless an MPM is compiled in" if mpm else "the text loads no MPM"
        build = Build(UPSTREAM, version, layout, reason, detected=True)
        if mpm:
            build.sources = tuple(f"{mpm}.c" if name == "event.c" else name for name in build.sources)
        return build
    reason = f"{found.layout.name}: {found.reason}"
    return Build(found.layout.build, version, found.layout, reason, detected=True)
