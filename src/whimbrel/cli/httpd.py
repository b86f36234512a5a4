"""whimbrel-httpd: httpd's command line, and options of our own.

``--dialect 2.2|2.4|guide``: whose answers. ``--builtin auto|debian|shared|upstream|suse|all|any``: the build
of httpd that decides about compiled-in modules and default paths; auto: as the text shows. ``--envvars
FILE``: shell variables. ``--strict``: -t fails if a start would be refused because of directives without
behaviour. ``--json`` applies to -t, the dumps, -l, -L, -V and -v. Heavy imports stand behind the options that
need them.
"""

from __future__ import annotations

import os
import sys

from whimbrel.base.product import COMPATIBLE
from whimbrel.base.programs import permit_programs
from whimbrel.cli import version_text
from whimbrel.cli.arguments import Arguments, parse
from whimbrel.utilities.usage_error import UsageError


def main() -> None:
    """Entry point of whimbrel-httpd.

    Skips garbage collection and interpreter shutdown, which cost a check more than its work.
    """
    import gc

    gc.disable()
    from whimbrel.cli import fast_import

    fast_import.install()
    status = run(sys.argv)
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        sys.exit(status)  # interpreter shutdown reports the error
    os._exit(status)


def run(argv: list[str]) -> int:
    """Run the command line *argv*; return the exit status."""
    permit_programs()
    try:
        arguments = parse(argv[0], argv[1:])
    except UsageError as problem:
        message = f"{os.path.basename(argv[0])}: {problem.message}\n" if problem.message else ""
        own = version_text.OWN_OPTIONS if {"-h", "-?"} & set(argv) else ""
        sys.stderr.write(message + version_text.usage(argv[0], _dialect(argv)) + own)
        return 1
    if arguments.show and (arguments.show != "L" or arguments.dialect == "2.2"):
        return show(arguments)
    from whimbrel.cli import bootstrap

    return bootstrap.run(arguments)


def show(arguments: Arguments) -> int:
    """Print the text of -v, -V, -l or 2.2's -L; return the exit status."""
    if arguments.show == "v" and not arguments.json:
        sys.stdout.write(version_text.version(arguments.dialect))
        return 0
    build = arguments.named_build
    if build is not None:
        root = build.root
        file = build.file
    else:
        from whimbrel.cli.server_build import detected_server

        root, file, build = detected_server(arguments)
    if arguments.json:
        from whimbrel.cli import json_output

        json_output.write(json_output.show_document(arguments, root, file, build))
        return 0
    if arguments.show == "l":
        text = version_text.modules(build)
    elif arguments.show == "V":
        text = version_text.settings(arguments.dialect, build, root, file)
    else:
        from whimbrel.cli.dumps import directives

        text = directives(arguments.dialect, version_text.sources(build))
    sys.stdout.write(text)
    return 0


def _dialect(argv: list[str]) -> str:
    """Return the dialect of a command line that could not be parsed completely."""
    for at, word in enumerate(argv):
        value = word.partition("=")[2] or (argv[at + 1] if at + 1 < len(argv) else "")
        if word.startswith("--dialect") and value in COMPATIBLE:
            return value
    return "2.4"
