"""Lines of a configuration as `whimbrel serve` executes them: ports, paths of a copy, and what is missing.

What decides access is never replaced: a file of passwords, groups or authorities that is missing stays
missing, and the server refuses the request or the start.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from whimbrel.base.accounts import group_named, user_named
from whimbrel.base.errors import MissingResource
from whimbrel.base.file_writing import write_over
from whimbrel.base.latin1 import from_system, to_bytes, to_system
from whimbrel.base.loopback import LOOPBACK
from whimbrel.catalogue.written_files import WRITTEN, WrittenKind, written_path
from whimbrel.cli.serve_places import ServePlaces, without_drive
from whimbrel.config.addresses import BadAddress, parse_host_port
from whimbrel.config.configuration import Configuration
from whimbrel.config.execute import root_relative
from whimbrel.directives.node import Node
from whimbrel.directives.tokens import words as words_of
from whimbrel.syntax.words import getword, quoted, skip_blanks

PAIR: Final = ("sslcertificatefile", "sslcertificatekeyfile", "sslcertificatechainfile")
"""Lines of a certificate, which belong together."""
MAX_LOOPBACK: Final = 254
"""Addresses of the loopback that stand for addresses that this machine does not have."""
FILE_TESTS: Final = frozenset({"-f", "-d", "-s", "-l", "-x", "-h", "-L", "-F"})

Change = Callable[[int, str], str]


class ServedLines:
    """The adapter of one served configuration (`LoadOptions.adapter`).

    Attributes:
        places: where the files are.
        ports: the port to listen to by the port of the text; *offset* is added to each.
        notes: one sentence for each kind of thing that was replaced.
        configuration: the one that is being read; its loader sets it.
        secure_ports: ports with TLS, as far as Listen shows them.
        is_read: the configuration is complete: the lines that follow are those of .htaccess files.
        has_image: see `LineAdapter`.
    """

    def __init__(
        self, places: ServePlaces, ports: Mapping[int, int], offset: int = 0, *, is_local: bool = False
    ) -> None:
        self.places = places
        self.has_image = places.is_complete
        self.ports = ports
        self.offset = offset
        self.is_local = is_local
        self.notes: list[str] = []
        self.configuration: Configuration | None = None
        self.is_read = False
        self.secure_ports: set[str] = set()
        self._addresses: dict[str, str] = {}
        self._certificate: tuple[str, str] | None = None

    def note(self, text: str) -> None:
        """Add *text* to the notes, once."""
        if text not in self.notes:
            self.notes.append(text)

    # the methods of LineAdapter ---------------------------------------------------------------
    def arguments(self, node: Node) -> str:
        """Return the arguments that are executed in place of those of *node*."""
        name = node.name.lower()
        text = node.args
        bracket = ""
        if name[0] == "<":
            text, bracket, rest = text.rpartition(">")
            bracket += rest
        if self.places.has_drives:
            text = changed(text, lambda _at, word: without_drive(word))
        change = _CHANGES.get(name)
        if change is not None:
            text = change(self, node, text)
        return text + bracket

    def path(self, node: Node, path: str) -> str:
        """Return where the file or directory *path* (absolute) of *node* is."""
        name = node.name.lower()
        place = path if name == "typesconfig" else self.places.place(path)  # `change_types` has placed it
        if name == "documentroot" and not os.path.isdir(to_bytes(place)):
            is_new = self.places.make_empty(place)
            what = "an empty directory is used" if is_new else "its files are not found"
            self.note(f"DocumentRoot {path} is not here: {what}")
        return place

    def leaves_out(self, problem: MissingResource) -> bool:
        """Leave out suEXEC in a trial on this machine: programs run as the workers."""
        if not (self.is_local and problem.is_accepted_by_22):
            return False
        self.note(f"--loopback: {problem.reason}: programs run as the workers")
        return True

    # files ------------------------------------------------------------------------------------
    def _absolute(self, path: str) -> str:
        root = self.configuration.root if self.configuration is not None else self.places.root
        return self.places.place(root_relative(root, path))

    def _written(self, path: str, *, is_directory: bool = False) -> str:
        place = self._absolute(path)
        new = self.places.written(place, is_directory=is_directory)
        if new != place and not self.places.image:
            self.note(f"{path} cannot be written: {new}")
        return new

    def change_log(self, node: Node, text: str) -> str:
        """Change the first word: a file, a program or syslog. The error log is always a file, from which the
        reason of a failure is read. A server for this machine alone is a trial, whose requests do not belong
        into the logs of the site.
        """
        is_file = bool(self.places.image) or self.is_local or node.name.lower() == "errorlog"
        if self.is_local and not self.places.image:
            self.note(f"--loopback: all logs are below {self.places.directory}/written, until it ends")

        def change(at: int, word: str) -> str:
            if at or word.startswith(f"|{self.places.directory}"):
                return word
            is_syslog = word.lower().partition(":")[0] == "syslog"
            if not is_syslog and not word.startswith("|"):
                if self.is_local:
                    return self.places.written(self._absolute(word), is_temporary=True)
                return self._written(word)
            if is_file or (word.startswith("|") and os.getuid() != 0):
                self.note(f"the log {word} is a file here, no program or syslog is used")
                name = "".join(letter if letter.isalnum() else "_" for letter in word)
                path = f"{self.places.image}/logs/{name[:80]}"
                return self.places.written(path, is_temporary=self.is_local)
            return word

        return changed(text, change)

    def change_pid_file(self, _node: Node, _text: str) -> str:
        """Set a file that no other server has."""
        return quoted(f"{self.places.directory}/httpd.pid")

    def change_written_file(self, _node: Node, text: str) -> str:
        """Change the file that the first word names."""
        return changed(text, lambda at, word: word if at else self._written(word))

    def change_written_directory(self, _node: Node, text: str) -> str:
        """Change the directory that the first word names."""
        return changed(text, lambda at, word: word if at else self._written(word, is_directory=True))

    def change_mutex(self, _node: Node, text: str) -> str:
        """Change the directory of Mutex mechanism:directory."""

        def change(at: int, word: str) -> str:
            mechanism, colon, path = word.partition(":")
            return word if at or not path else mechanism + colon + self._written(path, is_directory=True)

        return changed(text, change)

    def change_mechanism_file(self, node: Node, text: str) -> str:
        """Change the file of mechanism:file, and keep a (size) behind it."""

        def change(at: int, word: str) -> str:
            path = "" if at else written_path(node.name.lower(), word)
            if not path:
                return word
            mechanism, colon, rest = word.partition(":")
            return mechanism + colon + self._written(path) + rest.removeprefix(path)

        return changed(text, change)

    def change_types(self, _node: Node, text: str) -> str:
        """Change TypesConfig: without the file, this machine's types are used."""

        def change(at: int, word: str) -> str:
            if at:
                return word
            place = self._absolute(word)
            if os.access(to_bytes(place), os.R_OK):
                return place
            if os.access("/etc/mime.types", os.R_OK):
                self.note(f"TypesConfig {word} is not here: /etc/mime.types of this machine is used")
                return "/etc/mime.types"
            self.note(f"TypesConfig {word} is not here: the types that Python knows are used")
            return self._known_types()

        return changed(text, change)

    def _known_types(self) -> str:
        import mimetypes

        path = f"{self.places.directory}/mime.types"
        lines = [f"{kind} {end[1:]}\n" for end, kind in sorted(mimetypes.types_map.items())]
        write_over(to_bytes(path), "".join(lines).encode())
        return path

    # paths ------------------------------------------------------------------------------------
    def change_section(self, _node: Node, text: str) -> str:
        """Change <Directory>: a path with or without wildcards, or ``~`` and an expression."""
        is_pattern = getword(text)[0] == "~"

        def change(at: int, word: str) -> str:
            if is_pattern:
                return self.places.pattern(word) if at == 1 else word
            return self.places.place(word) if at == 0 and word.startswith("/") and word != "/" else word

        return changed(text, change)

    def change_section_match(self, _node: Node, text: str) -> str:
        """Change <DirectoryMatch>; a ``~`` before its expression is redundant."""
        first = int(getword(text)[0] == "~")
        return changed(text, lambda at, word: self.places.pattern(word) if at == first else word)

    def change_last(self, _node: Node, text: str) -> str:
        """Change the path after a URL path or an expression; one word alone is a path in <Location>."""
        words = words_of(text)
        return changed(text, lambda at, word: self._placed(word) if at == len(words) - 1 else word)

    def change_all(self, _node: Node, text: str) -> str:
        """Change every word that is an absolute path."""
        return changed(text, lambda _at, word: self._placed(word))

    def change_user_directory(self, _node: Node, text: str) -> str:
        """Change UserDir: the directory of a user is that of the copy (`Configuration.home`)."""
        words = words_of(text)
        if not self.places.image or (words and words[0].lower() in ("enabled", "disabled")):
            return text

        def change(_at: int, word: str) -> str:
            return word if "://" in word or word[:1] != "/" else self.places.place(word)

        return changed(text, change)

    def change_condition(self, _node: Node, text: str) -> str:
        """Change RewriteCond: a path whose file is tested."""
        words = words_of(text)
        is_test = len(words) > 1 and words[1].lstrip("!") in FILE_TESTS
        return changed(text, lambda at, word: self._placed(word) if is_test and at == 0 else word)

    def change_rule(self, node: Node, text: str) -> str:
        """Change RewriteRule: as httpd does, a substitution is a path if its first directory exists."""
        if self.is_read or any(name.lower().startswith(("<dir", "<loc", "<fil")) for name in node.sections()):
            return text

        def change(at: int, word: str) -> str:
            first = word[1:].partition("/")[0]
            if at != 1 or word[:1] != "/" or not first or "$" in first or "%" in first:
                return word
            place = self._placed(f"/{first}")
            return self._placed(word) if os.path.exists(to_bytes(place)) else word

        return changed(text, change)

    def _placed(self, word: str) -> str:
        return self.places.place(word) if word.startswith("/") else word

    # addresses --------------------------------------------------------------------------------
    def change_listen(self, _node: Node, text: str) -> str:
        """Change Listen; the protocol stays that of the port in the text."""
        words = words_of(text)
        if not 1 <= len(words) <= 2:
            return text
        try:
            is_https = parse_host_port(words[0]).port == 443
        except BadAddress:
            return text
        protocol = words[1:] or (["https"] if is_https else [])
        if protocol and protocol[0].lower() == "https":
            self.secure_ports.add(self._address(words[0]).rpartition(":")[2])
        address = self._address(words[0])
        if self.is_local:
            address = f"{LOOPBACK}:{parse_host_port(address).port}"
        return " ".join(quoted(word) for word in [address, *protocol])

    def change_addresses(self, _node: Node, text: str) -> str:
        """Change the addresses of <VirtualHost> or NameVirtualHost."""
        return changed(text, lambda _at, word: self._address(word))

    def _address(self, text: str) -> str:
        body, any_port = (text[:-2], ":*") if text.endswith(":*") else (text, "")
        try:
            parts = parse_host_port(body)
        except BadAddress:
            return text
        port = self.ports.get(parts.port, parts.port) + (self.offset if parts.port else 0)
        host = parts.host if not parts.host or parts.scope else self._host(parts.host)
        if host == parts.host and port == parts.port:
            return text
        shown = host
        if ":" in host:
            shown = f"[{host}%{parts.scope}]" if parts.scope else f"[{host}]"
        tail = any_port or (f":{port}" if port else "")
        return f"{shown}{tail}" if host else str(port)

    def _host(self, host: str) -> str:
        """Return an address of this machine in place of one that it does not have."""
        if self.is_local and host != "*" and host.lower() != "_default_":
            return LOOPBACK
        if not self.places.image or host == "*" or host.lower() == "_default_":
            return host
        if host not in self._addresses:
            self._addresses[host] = self._local(host)
            if self._addresses[host] != host:
                self.note(f"{host} is no address of this machine: {self._addresses[host]} is used")
        return self._addresses[host]

    def _local(self, host: str) -> str:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            socket.inet_pton(family, host)
        except (OSError, ValueError):
            return "*"  # a name, whose address on the other machine is unknown
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as probe:
                probe.bind((host, 0))
            return host
        except OSError:
            used = sum(address.startswith("127.0.0.") for address in self._addresses.values())
            return f"127.0.0.{min(used + 1, MAX_LOOPBACK)}"

    # users and certificates -------------------------------------------------------------------
    def change_user(self, node: Node, text: str) -> str:
        """Change User or Group: without it the workers are nobody."""
        is_user = node.name.lower() == "user"
        word = getword(text)[0]
        try:
            if not word.startswith("#"):
                _ = user_named(to_system(word)) if is_user else group_named(to_system(word))
            return text
        except (KeyError, ValueError):
            pass
        identity = self.nobody(is_user=is_user)
        if os.getuid() == 0:  # else the line has no effect, which the banner states
            kind = "user" if is_user else "group"
            self.note(f"{node.name} {word} is no {kind} of this machine: the workers run as {identity}")
        return quoted(identity)

    def nobody(self, *, is_user: bool) -> str:
        """Return the user or group of workers without a name on this machine."""
        if os.getuid() != 0:
            return f"#{os.getuid() if is_user else os.getgid()}"
        try:
            entry = user_named("nobody")
        except KeyError:
            return "#65534"
        return f"#{entry.pw_uid if is_user else entry.pw_gid}"

    def change_certificate(self, node: Node, text: str) -> str:
        """Change a line of a certificate: all lines of a host together, if a file of one is not here."""
        if not self._lacks_certificate(node):
            return changed(text, lambda at, word: word if at else self._absolute(word))
        pair = self._self_signed()
        if pair is None:
            return text
        return quoted(pair[1] if node.name.lower() == PAIR[1] else pair[0])

    def change_pass_phrase(self, _node: Node, text: str) -> str:
        """Change SSLPassPhraseDialog: no program of a copy gives the pass phrases of its keys."""
        word = getword(text)[0]
        if not self.places.image or word.lower() == "builtin":
            return text
        self.note(f"SSLPassPhraseDialog {word} is not used: pass phrases are read from the terminal")
        return "builtin"

    def _lacks_certificate(self, node: Node) -> bool:
        tree = self.configuration.tree if self.configuration is not None else []
        for line in node.parent.children if node.parent is not None else tree:
            path = without_drive(getword(line.args)[0])
            if line.name.lower() in PAIR and path and ":" not in path:
                place = to_bytes(self._absolute(path))
                if not os.access(place, os.R_OK) or not os.path.getsize(place):
                    self.note(f"{line.name} {path} cannot be read: a new certificate for localhost is used")
                    return True
        return False

    def _self_signed(self) -> tuple[str, str] | None:
        """Return the files of the new certificate and its key; None without the optional package."""
        if self._certificate is None:
            try:
                from whimbrel.cli.self_signed import make  # needs an optional library
            except ImportError:
                from whimbrel.base.extras import not_installed

                self.note(not_installed("a certificate for localhost", "tls"))
                return None
            certificate, key = make(Path(to_system(self.places.directory)))
            self._certificate = from_system(str(certificate)), from_system(str(key))
        return self._certificate


def changed(text: str, change: Change) -> str:
    """Return *text* with the result of *change* for each argument; *change* gets its number and value."""
    at = skip_blanks(text)
    pieces = [text[:at]]
    while at < len(text):
        word, end = getword(text, at)
        new = change(len(pieces) - 1, word)
        pieces.append(text[at:end] if new == word else quoted(new) + " " * (end < len(text)))
        at = end
    return "".join(pieces)


Changer = Callable[[ServedLines, Node, str], str]


def _for(names: str, change: Changer) -> dict[str, Changer]:
    return dict.fromkeys(names.split(), change)


_WRITTEN_CHANGES: Final[Mapping[WrittenKind, Changer]] = {
    WrittenKind.LOG: ServedLines.change_log,
    WrittenKind.FILE: ServedLines.change_written_file,
    WrittenKind.DIRECTORY: ServedLines.change_written_directory,
    WrittenKind.MECHANISM_FILE: ServedLines.change_mechanism_file,
    WrittenKind.MECHANISM_DIRECTORY: ServedLines.change_mutex,
}
_CHANGES: Final[Mapping[str, Changer]] = {
    **_for("listen", ServedLines.change_listen),
    **_for("<virtualhost namevirtualhost", ServedLines.change_addresses),
    **_for("user group", ServedLines.change_user),
    **_for(" ".join(PAIR), ServedLines.change_certificate),
    **_for("sslpassphrasedialog", ServedLines.change_pass_phrase),
    **_for("typesconfig", ServedLines.change_types),
    **{name: _WRITTEN_CHANGES[kind] for name, kind in WRITTEN.items()},
    **_for("pidfile", ServedLines.change_pid_file),
    **_for("<directory", ServedLines.change_section),
    **_for("<directorymatch", ServedLines.change_section_match),
    **_for("alias scriptalias aliasmatch scriptaliasmatch", ServedLines.change_last),
    **_for(
        "chrootdir mimemagicfile virtualdocumentroot virtualdocumentrootip virtualscriptalias "
        "virtualscriptaliasip <iffile",
        ServedLines.change_all,
    ),
    **_for("userdir", ServedLines.change_user_directory),
    **_for("rewritecond", ServedLines.change_condition),
    **_for("rewriterule", ServedLines.change_rule),
}
