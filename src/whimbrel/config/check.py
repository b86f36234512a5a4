"""``-t``: read and check a configuration, start nothing."""

from __future__ import annotations

from collections.abc import Mapping

from whimbrel.base.dialect import Dialect
from whimbrel.base.errors import ConfigError, StartError
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.config.configuration import Configuration
from whimbrel.config.load import complete, read_as_its_build
from whimbrel.config.messages import format_error, format_message
from whimbrel.config.options import LoadOptions
from whimbrel.registry.module import Module


def check(options: LoadOptions, modules: Mapping[str, Module], dialect: Dialect) -> tuple[int, str]:
    """Return exit code and text of ``-t`` without times and process numbers; lines need no last end."""
    readings = list[Configuration]()
    status, last = _outcome(replace(options, check_only=True), modules, dialect, readings)
    configuration = readings[-1]
    return status, "\n".join(
        [*(format_message(message, dialect) for message in configuration.messages), last]
    )


def _outcome(
    options: LoadOptions, modules: Mapping[str, Module], dialect: Dialect, readings: list[Configuration]
) -> tuple[int, str]:
    try:
        complete(read_as_its_build(options, modules, dialect, readings.append))
    except ConfigError as problem:
        return 1, format_error(problem, dialect, readings[-1].program)
    except StartError as problem:
        return problem.status, format_error(problem, dialect, readings[-1].program)
    return 0, "Syntax OK"
