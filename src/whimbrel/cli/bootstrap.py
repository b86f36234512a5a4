"""The part of whimbrel-httpd that reads a configuration: check, dump, signal, start."""

from __future__ import annotations

import os
import sys

from whimbrel.base.errors import ConfigError, PostConfigError, StartError
from whimbrel.base.latin1 import to_bytes
from whimbrel.cli.arguments import Arguments
from whimbrel.cli.config_loader import ConfigLoader, print_error, write_stderr
from whimbrel.cli.missing_extras import missing_extras, used_modules
from whimbrel.config.configuration import Configuration


def run(arguments: Arguments) -> int:
    """Read the configuration, then check, dump, signal or start; return the exit status."""
    loader = ConfigLoader(arguments, is_silent=arguments.json and arguments.check_only)
    if arguments.error_file:
        handle = os.open(
            os.path.join(loader.root, arguments.error_file), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644
        )
        os.dup2(handle, 2)
    if not arguments.check_only:
        from whimbrel.cli import signals
    try:
        configuration = loader.load()
        if arguments.show:
            return _print_directives(loader, configuration)
        if arguments.check_only:
            return _print_json(loader, None) if arguments.json else _print_check(loader, configuration)
        if arguments.signal or arguments.dialect != "2.2":
            status = signals.signal_running(configuration, arguments.signal)
            if status is not None:
                return status
        return signals.start(loader, configuration)
    except PostConfigError as problem:
        return _report_refusal(loader, problem)
    except (ConfigError, StartError) as problem:
        if arguments.json and arguments.check_only:
            return _print_json(loader, problem)
        _print_includes(loader)
        return print_error(problem, loader)


def _report_refusal(loader: ConfigLoader, problem: PostConfigError) -> int:
    """Open the error log, log the failure of a post_config step in it, and return the exit status."""
    from whimbrel.cli import signals

    try:
        return signals.report_refusal(loader, problem)
    except StartError as worse:
        return print_error(worse, loader)


def _print_includes(loader: ConfigLoader) -> None:
    """Print the files of DUMP_INCLUDES that were read before an error."""
    configuration = loader.configuration
    if (
        configuration is not None
        and "DUMP_INCLUDES" in loader.arguments.defines
        and loader.dialect.messages_24
    ):
        from whimbrel.cli import dumps

        os.write(1, to_bytes(dumps.includes(configuration)))


def _print_json(loader: ConfigLoader, problem: ConfigError | StartError | None) -> int:
    """Print the JSON document of a check, valid or not; return the exit status."""
    from whimbrel.cli import json_output

    configuration = loader.configuration
    json_output.write(json_output.check_document(configuration, problem))
    if problem is None and configuration is not None and loader.arguments.is_strict:
        return int(bool(refusal(configuration)))
    if problem is None:
        return 0
    if isinstance(problem, StartError):
        return problem.status
    return 1


def _print_directives(loader: ConfigLoader, configuration: Configuration) -> int:
    """Print the directives of the loaded modules (-L of 2.4); return the exit status."""
    sources = [module.source for module in configuration.modules.modules]
    if loader.arguments.json:
        from whimbrel.cli import json_output

        json_output.write(json_output.directives_document("2.4", sources))
    else:
        from whimbrel.cli import dumps

        sys.stdout.flush()
        os.write(1, to_bytes(dumps.directives("2.4", sources)))
    return 0


def _print_check(loader: ConfigLoader, configuration: Configuration) -> int:
    """Print the requested dumps, "Syntax OK", and why a start would be refused; return the exit status: with
    --strict 1 for such a reason.
    """
    dumping = any(name.startswith("DUMP_") for name in configuration.options.defines)
    is_silent = False
    if dumping:
        from whimbrel.cli import dumps

        sys.stdout.flush()
        os.write(1, to_bytes(dumps.requested_dumps(configuration)))
        if "DUMP_MODULES" in configuration.options.defines and configuration.build.is_shown:
            write_stderr(f"build: {configuration.build.name}: {configuration.build.reason}")
        is_silent = dumps.is_syntax_ok_silent(configuration)
    if not is_silent:
        write_stderr("Syntax OK")
    reason = refusal(configuration)
    if reason and not is_silent:
        write_stderr(reason)
    lacking = missing_extras(used_modules(configuration))
    if lacking and not is_silent:
        write_stderr(lacking)
    return int(bool(reason) and loader.arguments.is_strict)


def refusal(configuration: Configuration) -> str:
    """Return the message of a start that is refused because of directives without behaviour; "" for none."""
    if not configuration.unimplemented and not configuration.handlers:
        return ""
    from whimbrel.config.unimplemented import refuse_start

    try:
        refuse_start(configuration)
    except StartError as problem:
        return "\n".join(problem.lines)
    return ""
