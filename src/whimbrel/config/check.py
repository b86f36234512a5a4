"""``-t``: read and check a configuration, start nothing."""

from __future__ import annotations

from collections.abc import Mapping

from whimbrel.base.dialect import Dialect
from whimbrel.base.errors import ConfigError, StartError
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.config.configuration import Configuration
from whimbrel.config.load import complete, new_configuration, read
from whimbrel.config.messages import format_error, format_message
from whimbrel.config.options import LoadOptions
from whimbrel.registry.module import Module


def check(options: LoadOptions, modules: Mapping[str, Module], dialect: Dialect) -> tuple[int, str]:
    """Return the exit code and the text of ``-t``, times and process numbers left out; lines without a last
    line end.
    """
    configuration = new_configuration(replace(options, check_only=True), modules, dialect)
    status, last = _outcome(configuration)
    return status, "\n".join(
        [*(format_message(message, dialect) for message in configuration.messages), last]
    )


def _outcome(configuration: Configuration) -> tuple[int, str]:
    try:
        complete(read(configuration))
    except ConfigError as problem:
        return 1, format_error(problem, configuration.dialect, configuration.program)
    except StartError as problem:
        return problem.status, format_error(problem, configuration.dialect, configuration.program)
    return 0, "Syntax OK"
