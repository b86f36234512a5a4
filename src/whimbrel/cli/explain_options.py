"""Options of `whimbrel explain`, as types of its parameters."""

from __future__ import annotations

from typing import Annotated

import typer

What = Annotated[
    list[str] | None,
    typer.Argument(metavar="WHAT", help="URL, row, code, log line, directive, module or symptom."),
]
Listing = Annotated[
    bool,
    typer.Option(
        "--list",
        help="List rows and codes, or those that contain WHAT. Default: explain. Example: --list mod_ssl",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON. Default: text. Example: --json C17")]
Verbose = Annotated[
    int,
    typer.Option(
        "--verbose",
        "-v",
        count=True,
        help="Show every step of a request, and the number of sub-requests of a listing; twice as --all. "
        "Default: the main steps. Example: -v /shop/",
    ),
]
AllSteps = Annotated[
    bool,
    typer.Option(
        "--all",
        help="Show every step, those of all sub-requests too. Default: the main steps. Example: --all /list/",
    ),
]
Host = Annotated[
    str,
    typer.Option(
        help="Send this Host field as it stands. Default: that of the URL, with a port only where the URL "
        "names one; Listen decides where the client connects. Example: --host a.example"
    ),
]
From = Annotated[
    str,
    typer.Option("--from", help="Client address. Default: 192.0.2.1. Example: --from 10.1.2.3"),
]
ClientHost = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Name that a lookup of the client address gives. Default: none. "
        "Example: --client-host pc.example.com",
    ),
]
To = Annotated[
    str,
    typer.Option("--to", help="Server address. Default: that of the virtual host. Example: --to 10.0.0.5"),
]
User = Annotated[
    str,
    typer.Option(
        help="Authenticate as NAME, assumed without a password, or NAME:PASSWORD. Default: nobody. "
        "Example: --user alice"
    ),
]
Auth = Annotated[
    str,
    typer.Option(
        metavar="SCHEME",
        help="Authenticate by digest, or by digest-without-qop as a client of RFC 2069. Default: as the "
        "server asks for. Example: --auth digest-without-qop",
    ),
]
Method = Annotated[str, typer.Option(help="Request method. Default: GET. Example: --method POST")]
Fields = Annotated[
    list[str] | None,
    typer.Option(help="Send this header field. Default: none. Example: --header 'Accept: text/html'"),
]
Tls = Annotated[bool, typer.Option("--tls", help="Connect by TLS. Default: by the URL. Example: --tls")]
ClientCert = Annotated[
    str,
    typer.Option(
        metavar="SUBJECT|FILE",
        help="Connect by TLS with a certificate of this subject, which counts as verified, or with that of "
        "a PEM file. Default: none. Example: --client-cert 'CN=robin,O=Lab'",
    ),
]
DialectName = Annotated[
    str, typer.Option(help="Answer as 2.4, 2.2 or guide (the upgrade guide). Example: --dialect 2.2")
]
Diff = Annotated[
    str,
    typer.Option(
        metavar="DIALECT|CONF[@DIALECT]",
        help="Compare with another dialect or configuration. Default: none. Example: --diff 2.2",
    ),
]
Backups = Annotated[
    bool,
    typer.Option(
        "--backups",
        help="Compare what `upgrade --write` replaced, as 2.2, with what is there; with --dialect 2.2 answer "
        "by what it replaced alone. Default: what is there. Example: --backups -d /etc/httpd /shop/",
    ),
]
AccessLine = Annotated[
    str,
    typer.Option(
        "--access-log-line",
        help='Explain the request of this line. Example: --access-log-line "$(tail -1 access_log)"',
    ),
]
ErrorLine = Annotated[
    str,
    typer.Option(
        "--error-log-line",
        help='Explain the request of this line. Example: --error-log-line "$(tail -1 error_log)"',
    ),
]
LogFormat = Annotated[
    str,
    typer.Option(
        help="LogFormat of --access-log-line, or its name. Default: those of the configuration. "
        "Example: --log-format common"
    ),
]
