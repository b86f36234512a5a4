"""Process settings of a configuration, collected from its records in one ServerSpec."""

from __future__ import annotations

import os

from whimbrel.config.configuration import Configuration
from whimbrel.config.core_config import CoreServerConfig
from whimbrel.config.model import LogSink, ServerSpec
from whimbrel.config.mpm_config import MpmConfig
from whimbrel.modules.core.log import error_sink


def server_spec(configuration: Configuration) -> ServerSpec:
    """Fill the configuration's ServerSpec, which has its listeners already, and return it; called once, at
    the end.

    *processes* is 0 without StartServers: the server decides.
    """
    spec: ServerSpec = configuration.spec
    conf: MpmConfig = configuration.main.config(MpmConfig)
    spec.root = configuration.root
    spec.user = conf.user
    spec.group = conf.group
    spec.chroot = conf.chroot
    spec.pid_file = _under(spec.root, conf.pid_file or configuration.build.pid_file)
    spec.run_directory = conf.run_directory or configuration.build.run_directory or _under(spec.root, "logs")
    spec.core_directory = conf.core_directory or spec.root
    spec.requests_per_child = max(0, conf.requests_per_child)
    spec.backlog = conf.backlog
    spec.graceful_timeout = float(max(0, conf.graceful_timeout))
    spec.processes = conf.start_servers or 0
    spec.threads = conf.threads_per_child or (1 if configuration.loaded("mpm_prefork_module") else 25)
    spec.max_workers = conf.max_workers or (256 if spec.threads == 1 else 400)
    spec.max_processes = max(1, spec.max_workers // spec.threads)
    spec.error_log = error_sink(configuration, configuration.main)
    spec.log_sinks = _sinks(configuration)
    spec.buffered_logs = _buffered(configuration)
    return spec


def _under(root: str, path: str) -> str:
    return path if path.startswith("/") else os.path.join(root, path)


def _sinks(configuration: Configuration) -> list[LogSink]:
    """Return every log sink once: error logs, access logs, those of RewriteLog and ForensicLog."""
    alike = {
        server.value(CoreServerConfig, "error_log"): server for server in reversed(configuration.servers())
    }
    sinks = {error_sink(configuration, server): None for server in reversed(alike.values())}
    for name in ("access_sinks", "rewrite_sinks", "forensic_sinks", "otel_sinks"):
        others = configuration.provider("log", name)
        if others is not None:
            sinks.update(dict.fromkeys(others(configuration)))
    return list(sinks)


def _buffered(configuration: Configuration) -> bool:
    provider = configuration.provider("log", "buffered")
    return bool(provider is not None and provider(configuration.main))
