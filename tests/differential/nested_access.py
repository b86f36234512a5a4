"""Random zones of access control that depends on requests within requests, for both programs.

    python -m tests.differential.nested_access --seconds 600

A zone is a directory with its own sections: sub-requests of conditions, pages and indexes, internal redirects
of error documents, rewriting, actions and programs. Each difference is printed; a response that only Whimbrel
grants is marked OPENED. `--zone` prints the text of a zone.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.differential.exchange import Answer, Request, exchange
from tests.differential.guards import REQUIRE
from tests.differential.servers import APACHE, WHIMBREL, Program
from tests.differential.site import MTIME, PASSWORDS, GeneratedSite, ServerProcess, documents

MODULES: Final = "negotiation cgid actions speling".split()
PER_REQUEST: Final = "allowmethods log_debug".split()  # their hooks keep httpd from reusing walks
HEAD: Final = """LimitInternalRecursion 3
ScriptSock %LOGS%/cgisock
SetEnvIf X-Go yes good
IndexOptions -FancyIndexing
<Directory "%ROOT%">
Require all granted
AllowOverride All
Options +FollowSymLinks +MultiViews +Includes +Indexes +ExecCGI
AddOutputFilter INCLUDES .shtml
AddType text/html .shtml
AddHandler cgi-script .cgi
AddHandler type-map .var
</Directory>
"""
BASIC: Final = "AuthType Basic\nAuthName zone\nAuthUserFile passwd\nAuthGroupFile groups\n"
DIGEST: Final = "AuthType Digest\nAuthName realm\nAuthDigestProvider file\nAuthUserFile digests\n"
PROGRAM: Final = "#!/bin/sh\nprintf 'Location: %s\\n\\n' \"$QUERY_STRING\"\n"
ACTION: Final = (
    '#!/bin/sh\nprintf \'Content-Type: text/plain\\n\\naction %s %s\\n\' "$PATH_INFO" "$REMOTE_USER"\n'
)
NAMES: Final = (
    *(
        "x.txt",
        "x.txt",
        "y.html",
        "p.shtml",
        "q.shtml",
        "f.html",
        "f.txt",
        "sub/x.txt",
        "sub/x.txt",
        "sub/p.shtml",
    ),
    *(
        "index.html",
        "missing",
        "sub/",
        "",
        "f",
        "p",
        "sub/missing",
        "m.var",
        "x.txt/more",
        "odd.act",
        "ln.txt",
    ),
    *("xx.txt", "rw", "sub", "none/", "p.shtml/more", "sub/m.var"),
)
INCLUDED: Final = ("x.txt", "y.html", "f", "missing", "sub/x.txt", "ln.txt")
USERS: Final = ("", "", "", "alice:curlew", "alice:curlew", "bob:dunlin", "alice:wrong")
ACCESS: Final = (
    *("Satisfy Any", "Satisfy All", "Order Deny,Allow\nDeny from all", "Order Allow,Deny\nAllow from all"),
    *("Order Deny,Allow\nDeny from all\nSatisfy Any", "AuthMerging And", "AuthMerging Or", "AuthMerging Off"),
    *("Order Deny,Allow\nDeny from 127.0.0.2", "Order Allow,Deny\nAllow from env=good", "AuthType None"),
    "AuthzSendForbiddenOnFailure On",
)


@dataclass
class Zone:
    """One directory: its sections and documents, and the requests for it."""

    number: int
    blocks: list[str] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)


class ZoneMaker:
    """Draws the parts of zone *number* of *count* from *dice*."""

    def __init__(self, dice: random.Random, number: int, count: int) -> None:
        self.dice, self.number, self.count = dice, number, count

    def chance(self, share: float) -> bool:
        return self.dice.random() < share

    def target(self) -> str:
        """A URL path of this zone, rarely of another, or a relative one."""
        draw = self.dice.random()
        number = self.dice.randrange(self.count) if 0.8 < draw < 0.86 else self.number
        prefix = "a" if 0.86 < draw < 0.9 else "z"
        return (f"/{prefix}{number}/" if draw < 0.9 else "") + (self.dice.choice(NAMES) or ".")

    def path(self) -> str:
        target = self.target()
        return "%ROOT%" + target if target.startswith("/") else target

    def condition(self) -> str:
        """A condition, mostly one that needs a sub-request."""
        tests = (
            *(f"-U '{self.target()}'", f"-A '{self.target()}'", f"-F '{self.path()}'"),
            *(f"! -U '{self.target()}'", f"-U '{self.target()}'"),
            "%{IS_SUBREQ} == 'true'",
            "%{IS_SUBREQ} == 'false'",
            "%{REQUEST_URI} =~ /" + self.dice.choice(("x", "html", "sub", "missing", "index", "p")) + "/",
            "%{REQUEST_FILENAME} =~ /" + self.dice.choice(("x", "html", "sub", "missing")) + "/",
            "-n %{REMOTE_USER}",
            "%{REMOTE_USER} == 'alice'",
            "%{HTTP:X-Go} == 'yes'",
            "-R '127.0.0.2'",
            "%{QUERY_STRING} =~ /x/",
            "-n %{ENV:REDIRECT_STATUS}",
            "%{REQUEST_METHOD} == 'GET'",
            "true",
        )
        return self.dice.choice(tests)

    def rule(self) -> str:
        """The arguments of one Require."""
        if self.chance(0.4):
            return "expr " + self.condition()
        known = (
            "all granted",
            "all denied",
            "valid-user",
            "user alice",
            "user bob",
            "group wardens",
            "env good",
        )
        if self.chance(0.8):
            return self.dice.choice((*known, "method GET", "ip 127.0.0.1", "ip 127.0.0.2"))
        plain = [line.removeprefix("Require ") for line in REQUIRE]
        return self.dice.choice(
            [line for line in plain if line not in ("near", "chosen", "keepers", "group")]
        )

    def rules(self) -> str:
        """Return Require lines or a container."""
        draw = self.dice.random()
        if draw < 0.6:
            return f"Require {self.rule()}\n"
        if draw < 0.75:
            return f"Require {self.rule()}\nRequire {self.rule()}\n"
        if draw < 0.9:
            return f"<RequireAll>\nRequire {self.rule()}\nRequire {self.rule()}\n</RequireAll>\n"
        return f"<RequireAll>\nRequire all granted\nRequire not expr {self.condition()}\n</RequireAll>\n"

    def mapping(self) -> str:
        """A directive that leads to another document."""
        dice = self.dice
        return (
            dice.choice(
                (
                    f"ErrorDocument {dice.choice((401, 403, 403, 404, 404))} "
                    f"{'text' if self.chance(0.1) else f'/z{self.number}/' + dice.choice(NAMES)}",
                    f"DirectoryIndex {' '.join(n or 'sub/' for n in dice.sample(NAMES, 2))}",
                    f"FallbackResource /z{self.number}/{dice.choice(NAMES[:9])}",
                    "CheckSpelling On",
                    "AddHandler mine .act\nAction mine "
                    + f"/z{self.number}/{dice.choice(('act.cgi', 'x.txt', 'sub/act.cgi'))}",
                    "Options -MultiViews",
                    "Options -FollowSymLinks",
                    "DirectorySlash Off",
                    "AcceptPathInfo On",
                    "RewriteEngine On\nRewriteCond "
                    + f"{dice.choice((self.target(), self.path()))} "
                    + f"{dice.choice(('-U', '-F', '!-U', '!-F'))}\n"
                    + f"RewriteRule {dice.choice(('^x', 'html$', '.*', 'missing', 'rw'))} "
                    + dice.choice(
                        ("- [F]", "- [E=hit:1]", "sub/x.txt [L]", f"/z{self.number}/sub/x.txt [PT]")
                    ),
                    "RewriteEngine On\nRewriteRule ^(rw|missing|f)$ "
                    + dice.choice(("x.txt", "sub/x.txt", "p.shtml", f"/a{self.number}/x.txt", "f")),
                    f"SetEnvIf Request_URI {dice.choice(('x', 'sub', 'html'))} good",
                )
            )
            + "\n"
        )

    def body(self, depth: int = 0) -> str:
        """Return the lines of a section."""
        text = self.dice.choice((BASIC, BASIC, BASIC, DIGEST)) if self.chance(0.5) else ""
        text += self.rules() if self.chance(0.6) else ""
        text += self.dice.choice(ACCESS) + "\n" if self.chance(0.2) else ""
        text += f'Header always set X-H{depth} yes "expr={self.condition()}"\n' if self.chance(0.2) else ""
        text += self.mapping() if depth == 0 and self.chance(0.35) else ""
        if depth < 2 and self.chance(0.45):
            text += f'<If "{self.condition()}">\n{self.body(depth + 1)}</If>\n'
            if self.chance(0.3):
                text += f'<ElseIf "{self.condition()}">\n{self.body(depth + 1)}</ElseIf>\n'
            if self.chance(0.3):
                text += f"<Else>\n{self.body(depth + 1)}</Else>\n"
        return text

    def by_name(self) -> str:
        """A <Files> section."""
        opening = self.dice.choice(
            (
                "Files x.txt",
                "FilesMatch html",
                "Files missing",
                "FilesMatch .",
                "Files *.shtml",
                "Files ln.txt",
                "Files f",
            )
        )
        return f"<{opening}>\n{self.body(1)}</{opening.split()[0]}>\n"

    def page(self, name: str) -> str:
        """A parsed document."""
        text = name + "\n"
        for _ in range(self.dice.randint(1, 3)):
            text += (
                self.dice.choice(
                    (
                        f'<!--#include virtual="{self.target()}" -->',
                        f'<!--#include virtual="{self.target()}" -->',
                        f'<!--#include file="{self.dice.choice(INCLUDED)}" -->',
                        f'<!--#if expr="{self.condition()}" -->yes<!--#else -->no<!--#endif -->',
                        '<!--#echo var="REMOTE_USER" --><!--#echo var="AUTH_TYPE" -->',
                        f'<!--#fsize virtual="{self.target()}" -->',
                        f'<!--#exec cgi="/z{self.number}/act.cgi" -->',
                    )
                )
                + "\n"
            )
        return text

    def request(self) -> Request:
        dice = self.dice
        name = dice.choice(NAMES)
        path = f"/{'a' if self.chance(0.1) else 'z'}{self.number}/{name}"
        if self.chance(0.1):
            path = f"/z{self.number}/go.cgi?{self.target()}"
        elif self.chance(0.1):
            path += "?x"
        user = dice.choice(USERS)
        return Request(
            path,
            dice.choice(("GET",) * 6 + ("HEAD", "POST", "OPTIONS")),
            {"X-Go": "yes"} if self.chance(0.2) else {},
            user,
            dice.choice(("127.0.0.1", "127.0.0.1", "127.0.0.2")),
        )

    def zone(self) -> Zone:
        """Draw the zone."""
        n, zone = self.number, Zone(self.number)
        inner = "".join(self.by_name() for _ in range(self.dice.choice((0, 0, 1, 2))))
        zone.blocks.append(f'<Directory "%ROOT%/z{n}">\n{self.body()}{inner}</Directory>\n')
        ends = self.dice.choice(("x", "sub", "html", "sub/x"))
        for share, opening in (
            (0.3, f'Directory "%ROOT%/z{n}/sub"'),
            (0.15, f'DirectoryMatch "^%ROOT%/z{n}/.*{ends}"'),
            (0.3, f"Location /z{n}{self.dice.choice(('', '/', '/sub', '/x.txt', '/p.shtml', '/f'))}"),
            (0.15, f"LocationMatch ^/[az]{n}/.*{ends}"),
            (0.1, f"Location /a{n}"),
        ):
            if self.chance(share):
                zone.blocks.append(f"<{opening}>\n{self.body()}</{opening.split()[0]}>\n")
        zone.blocks.append(f'Alias /a{n} "%ROOT%/z{n}{self.dice.choice(("", "/sub"))}"\n')
        for place in ("", "sub/"):
            if self.chance(0.2):
                zone.files[f"{place}.htaccess"] = self.body() + (self.by_name() if self.chance(0.2) else "")
        names = ["x.txt", "y.html", "f.html", "f.txt", "sub/x.txt"] + (
            ["index.html"] if self.chance(0.6) else []
        )
        zone.files |= {name: f"{n} {name}\n" for name in names}
        zone.files |= {name: self.page(f"{n} {name}") for name in ("p.shtml", "q.shtml", "sub/p.shtml")}
        variants = self.dice.sample(("x.txt", "y.html", "sub/x.txt", "missing", "p.shtml"), 2)
        for place in ("", "sub/"):
            zone.files[place + "m.var"] = "".join(
                f"URI: {name}\nContent-Type: text/{'html' if 'html' in name else 'plain'}\n\n"
                for name in variants
            )
        zone.files |= {"go.cgi": PROGRAM, "act.cgi": ACTION, "sub/act.cgi": ACTION, "odd.act": "act\n"}
        zone.requests = [self.request() for _ in range(24)]
        return zone


class ZoneServer(ServerProcess):
    """Process of one program that serves *zones*."""

    def __init__(self, program: Program, conf: str, modules: Sequence[str], root: Path) -> None:
        super().__init__(program, GeneratedSite(conf), root)
        self.logs.chmod(0o777)
        loads = "".join(f"LoadModule {m}_module {self.program.module_dir}/mod_{m}.so\n" for m in modules)
        self.conf.write_text(loads + self.conf.read_text().replace("%LOGS%", str(self.logs)))


def write_zones(root: Path, zones: Sequence[Zone]) -> None:
    """Write the documents of *zones*, every time stamp the same."""
    documents(root)
    (root / "passwd").write_text(PASSWORDS)
    for zone in zones:
        for name, text in zone.files.items():
            path = root / f"htdocs/z{zone.number}" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.replace("%ROOT%", str(root / "htdocs")))
        (root / f"htdocs/z{zone.number}/ln.txt").symlink_to("sub/x.txt")
    for path in (root, *root.rglob("*")):
        path.chmod(0o755 if path.is_dir() or path.suffix == ".cgi" else 0o644)
        os.utime(path, (MTIME, MTIME))


@dataclass(frozen=True)
class ZoneDifference:
    """A request that the programs answer differently."""

    zone: Zone
    request: Request
    apache: Answer | str
    whimbrel: Answer | str

    @property
    def opened(self) -> bool:
        """Return True if only Whimbrel grants the request."""
        one, other = (a.status if isinstance(a, Answer) else 0 for a in (self.apache, self.whimbrel))
        return one in (401, 403) and 0 < other < 400

    def __str__(self) -> str:
        word = "OPENED" if self.opened else "differs"
        return f"zone {self.zone.number} {word}: {self.request}\n  A {self.apache}\n  W {self.whimbrel}"


def ask(port: int, request: Request) -> Answer | str:
    """Return the response, or what went wrong."""
    try:
        return exchange(port, request)
    except Exception as failure:
        return repr(failure)


def differences(zones: Sequence[Zone], modules: Sequence[str], times: int = 3) -> Iterator[ZoneDifference]:
    """Serve *zones* with both programs; yield the differences.

    Whimbrel answers the requests of a zone in turns, *times* times.
    """
    conf = HEAD + "".join(block for zone in zones for block in zone.blocks)
    with ExitStack() as stack:
        folder = (
            f"{tempfile.gettempdir()}/zones-{os.getpid()}"  # conditions match the name: no random letters
        )
        os.mkdir(folder, 0o755)
        stack.callback(shutil.rmtree, folder)
        root = Path(folder, "site")
        write_zones(root, zones)
        made = [ZoneServer(program, conf, modules, root) for program in (APACHE, WHIMBREL)]
        one, other = (stack.enter_context(server) for server in made)
        if not (one.started and other.started):
            raise ValueError(f"refused: {one.output or other.output}")
        for zone in zones:
            wanted = [ask(one.port, request) for request in zone.requests]
            bad = set()
            for _ in range(times):
                for request, want in zip(zone.requests, wanted, strict=True):
                    if isinstance(want, str):  # apache2 has crashed: endless recursion of its walks
                        continue
                    got = ask(other.port, request)
                    if got != want and id(request) not in bad:
                        bad.add(id(request))
                        yield ZoneDifference(zone, request, want, got)


def random_zones(seed: int, count: int) -> tuple[list[Zone], list[str]]:
    """Return the zones of *seed* and the modules that they are served with."""
    dice = random.Random(seed)
    modules = [*MODULES, *([dice.choice(PER_REQUEST)] if dice.random() < 0.2 else [])]
    return [ZoneMaker(dice, n, count).zone() for n in range(count)], modules


def main() -> int:
    """Run seeds until the time is over; return 1 if a difference was found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=600, help="how long (default 600)")
    parser.add_argument("--seed", type=int, default=1, help="the first seed (default 1)")
    parser.add_argument("--zones", type=int, default=25, help="zones of a seed (default 25)")
    parser.add_argument("--zone", type=int, help="this zone alone, with its text")
    options = parser.parse_args()
    if not APACHE.present:
        print("no apache2 on this machine: nothing to compare with", file=sys.stderr)
        return 2
    end, seed, found = time.monotonic() + options.seconds, options.seed, 0
    while time.monotonic() < end:
        zones, modules = random_zones(seed, options.zones)
        if options.zone is not None:
            zones, end = [zones[options.zone]], 0
            print("".join(zones[0].blocks), zones[0].files)
        for difference in differences(zones, modules):
            found += 1
            print(f"seed {seed}, {difference}", flush=True)
        print(f"seed {seed}: {found} differences so far", file=sys.stderr)
        seed += 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
