"""Settings of mod_wsgi 4.9, and the setters of its directives."""

from __future__ import annotations

from whimbrel.base.errors import ConfigError, StartError
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.net import InvalidNetwork, Network, parse_written
from whimbrel.base.numbers import decimal, is_alphanumeric, is_digits, upper
from whimbrel.base.regex import Regex
from whimbrel.base.static_typing import Final
from whimbrel.config.configuration import Configuration
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Setter
from whimbrel.directives.tokens import getword
from whimbrel.directives.tokens import words as split_words
from whimbrel.modules.support.setters import ON_OFF, own, set_choice
from whimbrel.modules.support.substitution import Substitution, compiled
from whimbrel.modules.wsgi.mod_wsgi.options import (
    ASGI,
    BAD_APPLICATION_GROUP,
    BAD_PROCESS_GROUP,
    DaemonProcess,
    authorization_flag,
    daemon_process,
    named,
    options,
    without_global,
)
from whimbrel.registry.settings import overlaid, prepended, setting

MAX_SEED: Final = 4294967295
BAD_ASGI_ALIAS: Final = "Invalid option to ASGI script alias definition."
BAD_ALIAS: Final = "Invalid option to WSGI script alias definition."
ALIAS_HELP: Final = {
    "WSGIScriptAlias": "Map location to target WSGI script file.",
    "WSGIScriptAliasMatch": "Map location pattern to target WSGI script file.",
}
MUTEXES: Final = ("default", "flock", "fcntl", "sysvsem", "posixsem", "pthread")
PER_REQUEST: Final = ("%{RESOURCE}", "%{SERVER}", "%{HOST}")


@dataclass(frozen=True, slots=True)
class ScriptAlias:
    """A line of WSGIScriptAlias, or of WSGIScriptAliasMatch with *regex* and *target*.

    Attributes:
        process_group, application_group, callable_object, pass_authorization: options, None without one.
    """

    location: str
    script: str
    regex: Regex | None = None
    target: Substitution | None = None
    process_group: str | None = None
    application_group: str | None = None
    callable_object: str | None = None
    pass_authorization: bool | None = None


@dataclass(frozen=True, slots=True)
class WsgiScript:
    """A script that a directive names, with the groups that run it; None: those of the request."""

    path: str
    process_group: str | None = None
    application_group: str | None = None
    pass_authorization: bool | None = None


@dataclass(frozen=True, slots=True)
class AsgiAlias:
    """A line of ASGIScriptAlias; *number*: its place among all of them."""

    number: int
    location: str
    script: str
    process_group: str
    callable_object: str = "application"


@dataclass(slots=True)
class WsgiServerConfig:
    """Per-server settings; all but the aliases and *daemon_names* are those of the main server."""

    aliases: list[ScriptAlias] = setting(make=list, merge=prepended)
    asgi_aliases: list[AsgiAlias] = setting(make=list, merge=prepended)
    asgi_programs: list[AsgiAlias] = setting(make=list)
    daemons: dict[str, DaemonProcess] = setting(make=dict)
    daemon_names: tuple[str, ...] = setting(())
    imports: list[WsgiScript] = setting(make=list)
    restrict_embedded: bool = setting(False)
    python_home: str = setting("")
    python_path: str = setting("")
    python_eggs: str = setting("")
    python_optimize: str = setting("")
    python_hash_seed: str = setting("")
    python_warnings: list[str] = setting(make=list)
    writes_bytecode: bool = setting(True)
    socket_prefix: str = setting("")
    restrict_signal: bool = setting(True)


@dataclass(slots=True)
class WsgiDirConfig:
    """Per-directory settings.

    Attributes:
        restrict_process: names of process groups that may be selected; None for all.
        map_head: HEAD becomes GET: on, off, or auto.
        proxy_headers: trusted ones, as names of variables. `proxies`: trusted networks, None for all.
    """

    restrict_process: frozenset[str] | None = setting(None)
    process_group: str | None = setting(None)
    application_group: str | None = setting(None)
    callable_object: str | None = setting(None)
    pass_authorization: bool = setting(False)
    script_reloading: bool = setting(True)
    error_override: bool = setting(False)
    chunked_request: bool = setting(False)
    map_head: str = setting("auto")
    ignore_activity: bool = setting(False)
    has_sendfile: bool = setting(False)
    proxy_headers: list[str] | None = setting(None)
    proxies: list[Network] | None = setting(None)
    dispatch_script: WsgiScript | None = setting(None)
    access_script: WsgiScript | None = setting(None)
    user_script: WsgiScript | None = setting(None)
    group_script: WsgiScript | None = setting(None)
    group_authoritative: bool = setting(True)
    handler_scripts: dict[str, WsgiScript] = setting(make=dict, merge=overlaid)


# shared setters -------------------------------------------------------------------------------------
SWITCH = "{name} must be one of: Off | On"


def switch(field: str) -> Setter:
    """Return the setter of On or Off into a field, "" for none."""
    return set_choice(field, ON_OFF, SWITCH)


def check_mutex(_cmd: Command, _conf: object, words: list[str]) -> None:
    """WSGIAcceptMutex: check the name of a mechanism; one socket of a group needs none."""
    if words[0].lower() not in MUTEXES:
        raise ConfigError(
            f"Accept mutex lock mechanism '{words[0]}' is invalid. Valid accept mutex mechanisms for this "
            f"platform are: {', '.join(MUTEXES)}."
        )


def set_hash_seed(_cmd: Command, conf: WsgiServerConfig, words: list[str]) -> None:
    """WSGIPythonHashSeed: ``random`` or a number of 32 bits."""
    text = words[0]
    digits = text.removeprefix("+")
    is_number = is_digits(digits) and decimal(digits) <= MAX_SEED
    if text != "random" and not is_number:
        raise ConfigError('WSGIPythonHashSeed must be "random" or an integer in range [0; 4294967295]')
    conf.python_hash_seed = text


# groups ---------------------------------------------------------------------------------------------
def add_daemon(cmd: Command, _conf: object, words: list[str]) -> None:
    """WSGIDaemonProcess: add a process group."""
    added = daemon_process(cmd, words[0])
    conf = cmd.main_server(WsgiServerConfig)
    present = own(conf, "daemons", dict)
    if added.name in present:
        raise ConfigError("Name duplicates previous WSGI daemon definition.")
    conf.daemons = {**present, added.name: added}
    own_conf = cmd.server_config(WsgiServerConfig)
    own_conf.daemon_names = (*own(own_conf, "daemon_names", tuple), added.name)


def set_restrict_process(_cmd: Command, conf: WsgiDirConfig, words: list[str]) -> None:
    """WSGIRestrictProcess: set the process groups that may be selected."""
    conf.restrict_process = frozenset(map(without_global, split_words(words[0])))


def _add_import(cmd: Command, script: WsgiScript, per_request: tuple[str, ...] = ()) -> None:
    """Add a script that its processes load when they start. Raises ConfigError for an unknown group."""
    conf = cmd.main_server(WsgiServerConfig)
    name = script.process_group
    if name and name not in per_request:
        daemon: DaemonProcess | None = own(conf, "daemons", dict).get(name)
        if daemon is None:
            raise ConfigError("WSGI process group not yet configured.")
        if daemon.is_virtual and cmd.server_name != daemon.server_name:
            is_named = bool(cmd.server_name and daemon.server_name)
            raise ConfigError(f"WSGI process group not {'accessible' if is_named else 'matchable'}.")
    conf.imports = [*own(conf, "imports", list), script]


# scripts --------------------------------------------------------------------------------------------
def add_alias(cmd: Command, conf: WsgiServerConfig, words: list[str]) -> None:
    """WSGIScriptAlias and WSGIScriptAliasMatch: add a line."""
    location, rest = getword(words[0])
    script, rest = getword(rest)
    if not location or not script:
        raise ConfigError(f"{cmd.name} requires at least two arguments, {ALIAS_HELP[cmd.name]}")
    process_group = None
    application_group = None
    callable_object = None
    pass_authorization = None
    for option, value in options(rest, BAD_ALIAS):
        if option == "application-group":
            application_group = without_global(named(value, BAD_APPLICATION_GROUP))
        elif option == "process-group":
            process_group = without_global(named(value, BAD_PROCESS_GROUP))
        elif option == "callable-object":
            callable_object = named(value, "Invalid name for WSGI callable object.")
        elif option == "pass-authorization":
            pass_authorization = authorization_flag(value)
        else:
            raise ConfigError(BAD_ALIAS)
    is_match = cmd.name == "WSGIScriptAliasMatch"
    added = ScriptAlias(
        location,
        script,
        compiled(cmd, location, "Regular expression could not be compiled.") if is_match else None,
        Substitution(script, ampersand=cmd.dialect.ampersand_is_match) if is_match else None,
        process_group,
        application_group,
        callable_object,
        pass_authorization,
    )
    conf.aliases = [*own(conf, "aliases", list), added]
    is_fixed = process_group is not None and application_group is not None
    if is_fixed and "%{" not in f"{process_group}{application_group}" and not (is_match and "$" in script):
        _add_import(cmd, WsgiScript(script, process_group, application_group), PER_REQUEST)


def add_asgi_alias(cmd: Command, conf: WsgiServerConfig, words: list[str]) -> None:
    """ASGIScriptAlias: add a line; its process group has application-type=asgi."""
    location, rest = getword(words[0])
    script, rest = getword(rest)
    if not location.startswith("/") or not script:
        raise ConfigError("ASGIScriptAlias requires a URL path, a script, and process-group=NAME")
    values = {"process-group": "", "callable-object": "application"}
    for option, value in options(rest, BAD_ASGI_ALIAS):
        if option not in values:
            raise ConfigError(BAD_ASGI_ALIAS)
        values[option] = value
    main = cmd.main_server(WsgiServerConfig)
    daemon: DaemonProcess | None = own(main, "daemons", dict).get(values["process-group"])
    if daemon is None or daemon.application_type != ASGI:
        raise ConfigError("ASGIScriptAlias requires a process group with application-type=asgi.")
    present = own(main, "asgi_programs", list)
    added = AsgiAlias(len(present), location, script, daemon.name, values["callable-object"])
    main.asgi_programs = [*present, added]
    conf.asgi_aliases = [*own(conf, "asgi_aliases", list), added]


def check_asgi(configuration: Configuration) -> None:
    """Refuse ASGIScriptAlias without the modules that send requests to the processes."""
    for server in configuration.servers():
        if server.config(WsgiServerConfig).asgi_aliases:
            for name in ("proxy_module", "proxy_http_module"):
                if name not in configuration.modules.identifiers:
                    raise StartError(f"ASGIScriptAlias needs {name}")


def _script(text: str, what: str, known: tuple[str, ...]) -> WsgiScript:
    """Return a script with its options; *what* names it in messages."""
    path, rest = getword(text)
    if not path:
        raise ConfigError(f"Location of {what} script not supplied.")
    message = f"Invalid option to WSGI {what} script definition."
    process_group = None
    application_group = None
    pass_authorization = None
    for option, value in options(rest, message):
        if option not in known:
            raise ConfigError(message)
        if option == "application-group":
            application_group = named(value, BAD_APPLICATION_GROUP)
        elif option == "process-group":
            process_group = named(value, BAD_PROCESS_GROUP)
        else:
            pass_authorization = authorization_flag(value)
    return WsgiScript(path, process_group, application_group, pass_authorization)


def add_import(cmd: Command, _conf: object, words: list[str]) -> None:
    """WSGIImportScript: add a script that is loaded when the processes of its group start."""
    script = _script(words[0], "import", ("application-group", "process-group"))
    if script.application_group is None:
        raise ConfigError("Name of WSGI application group required.")
    if script.process_group is None:
        raise ConfigError("Name of WSGI process group required.")
    process_group = without_global(script.process_group)
    _add_import(cmd, WsgiScript(script.path, process_group, without_global(script.application_group)))


def script_of(field: str, what: str) -> Setter:
    """Return the setter of a script with an application group."""

    def apply(_cmd: Command, conf: object, words: list[str]) -> None:
        setattr(conf, field, _script(words[0], what, ("application-group",)))

    return apply


def add_handler_script(_cmd: Command, conf: WsgiDirConfig, words: list[str]) -> None:
    """WSGIHandlerScript: set the script of a handler."""
    name, rest = getword(words[0])
    if not name:
        raise ConfigError("Name for handler script not supplied.")
    script = _script(rest, "handler", ("process-group", "application-group", "pass-authorization"))
    conf.handler_scripts = {**own(conf, "handler_scripts", dict), name: script}


# proxies in front -----------------------------------------------------------------------------------
def add_proxy_headers(_cmd: Command, conf: WsgiDirConfig, words: list[str]) -> None:
    """WSGITrustedProxyHeaders: add fields that a trusted proxy sets."""
    names = [
        "HTTP_" + "".join(char if is_alphanumeric(char) else "_" for char in upper(word))
        for word in split_words(words[0])
    ]
    conf.proxy_headers = [*own(conf, "proxy_headers", list), *names]


def add_proxies(_cmd: Command, conf: WsgiDirConfig, words: list[str]) -> None:
    """WSGITrustedProxies: add addresses and networks of proxies."""
    networks: list[Network] = []
    for word in split_words(words[0]):
        failure = f'Unable to parse trusted proxy IP address/subnet of "{word}".'
        if not word or not set(word) <= set("0123456789abcdef:/" if ":" in word else "0123456789./"):
            raise ConfigError(failure)
        try:
            networks.append(parse_written(word))
        except InvalidNetwork as problem:
            raise ConfigError(f"{failure} {problem.reason}") from None
    conf.proxies = [*own(conf, "proxies", list), *networks]
