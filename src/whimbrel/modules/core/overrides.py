"""Contents of .htaccess files and Options: AllowOverride, AllowOverrideList, AccessFileName, Options.

Manual: mod/core.html; error messages are httpd's.
"""

from __future__ import annotations

from whimbrel.base.errors import ConfigError
from whimbrel.base.static_typing import Final
from whimbrel.config.configuration import AUTHENTICATION
from whimbrel.config.core_config import (
    OPT_ALL,
    OPT_EXECCGI,
    OPT_INC_WITH_EXEC,
    OPT_INCLUDES,
    OPT_INDEXES,
    OPT_MULTI,
    OPT_NONE,
    OPT_SYM_LINKS,
    OPT_SYM_OWNER,
    OPT_UNSET,
    CoreDirConfig,
    CoreServerConfig,
    Options,
)
from whimbrel.config.execute import check_context, state_of
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Context, Setter
from whimbrel.directives.tokens import getword
from whimbrel.directives.tokens import words as split_words
from whimbrel.modules.support.setters import Forbidden
from whimbrel.registry.settings import UNSET

OPTIONS = {
    "indexes": OPT_INDEXES,
    "includes": OPT_INCLUDES | OPT_INC_WITH_EXEC,
    "includesnoexec": OPT_INCLUDES,
    "followsymlinks": OPT_SYM_LINKS,
    "symlinksifownermatch": OPT_SYM_OWNER,
    "execcgi": OPT_EXECCGI,
    "multiviews": OPT_MULTI,
    "runscripts": OPT_MULTI | OPT_EXECCGI,
    "none": OPT_NONE,
    "all": OPT_ALL,
}
CLASSES = {
    "limit": int(Context.OR_LIMIT),
    "options": int(Context.OR_OPTIONS),
    "fileinfo": int(Context.OR_FILEINFO),
    "authconfig": int(Context.OR_AUTHCFG),
    "indexes": int(Context.OR_INDEXES),
}
NONFATAL = {
    "override": int(Context.NONFATAL_OVERRIDE),
    "unknown": int(Context.NONFATAL_UNKNOWN),
    "all": int(Context.NONFATAL_OVERRIDE | Context.NONFATAL_UNKNOWN),
}


# Options -----------------------------------------------------------------------------------------
def set_options(command: Command, conf: CoreDirConfig, words: list[str]) -> None:
    """Set Options: unsigned words replace, signed ones change the outer ones. 2.2 allows both at once."""
    now = conf.options if conf.options is not UNSET else Options()
    value = now.value
    added = now.added
    removed = now.removed
    signs = _Signs(mixed=command.dialect.options_mixed_signs)
    text = words[0]
    while text:
        word, text = getword(text)
        action, word, clears = signs.next(word)
        bits = _known_option(word)
        signs.check_unsigned(word)
        if command.override_options & bits != bits:
            raise ConfigError(f"Option {word} not allowed here")
        if clears:
            value = OPT_NONE
        if action == "-":
            value, added, removed = value & ~bits, added & ~bits, removed | bits
        elif action == "+":
            value, added, removed = value | bits, added | bits, removed & ~bits
        else:
            value |= bits
    conf.options = Options(value, added, removed)


class _Signs:
    """State of the signs in one Options line, and 2.4's errors about mixtures."""

    def __init__(self, *, mixed: bool) -> None:
        self.mixed = mixed
        self.first = True
        self.signed = False
        self.is_unsigned = False
        self.plain_seen = False

    def next(self, word: str) -> tuple[str, str, bool]:
        """Return the sign, the word without it, and True if this word clears the outer options."""
        self.was_first, self.first = self.first, False
        action = word[:1] if word[:1] in ("+", "-") and word else ""
        if self.mixed:
            clears = not action and not self.plain_seen
            self.plain_seen = self.plain_seen or not action
            return action, word[len(action) :], clears
        if action:
            if not self.signed and not self.was_first and not self.is_unsigned:
                raise ConfigError("Either all Options must start with + or -, or no Option may.")
            self.signed = True
        elif not self.was_first and self.signed:
            raise ConfigError("Either all Options must start with + or -, or no Option may.")
        return action, word[len(action) :], self.was_first and not action

    def check_unsigned(self, word: str) -> None:
        """Check that None and All come first and without sign (2.4)."""
        lower = word.lower()
        if self.mixed or lower not in ("none", "all"):
            return
        name = "None" if lower == "none" else "All"
        if not self.was_first:
            raise ConfigError(
                "'Options None' must be the first Option given."
                if name == "None"
                else "'Options All' must be the first option given."
            )
        if self.signed:
            raise ConfigError(f"You may not use 'Options +{name}' or 'Options -{name}'.")
        self.is_unsigned = True


def _known_option(word: str) -> int:
    bits = OPTIONS.get(word.lower())
    if bits is None:
        raise ConfigError(f"Illegal option {word}")
    return bits


# AllowOverride -----------------------------------------------------------------------------------
def set_allow_override(command: Command, conf: CoreDirConfig, words: list[str]) -> None:
    """Set AllowOverride: class bits, Options=LIST, Nonfatal=KIND."""
    _useless(
        command,
        f"Useless use of AllowOverride in line {command.place.line} of {command.place.path}.",
        "AH00114",
    )
    check_context(command, Forbidden.LIMIT if command.dialect.contexts_22 else Forbidden.HTACCESS)
    override = 0
    nonfatal = 0
    for word in split_words(words[0]):
        key, equals, value = word.partition("=")
        lower = key.lower()
        if lower == "nonfatal" and command.dialect.keywords_24:
            if not equals:
                raise ConfigError(f"=Override, =Unknown or =All expected after {key}")
            nonfatal |= NONFATAL.get(value.lower(), 0)
        elif lower in CLASSES:
            override |= CLASSES[lower]
            if lower == "options":
                conf.override_options = _allowed_options(command, value) if equals else OPT_ALL
        elif lower in ("none", "all"):
            override = int(Context.OR_ALL) if lower == "all" else 0
            nonfatal = 0
        else:
            raise ConfigError(f"Illegal override option {key}")
    if override & CLASSES["authconfig"]:
        state_of(command).configuration.declare(AUTHENTICATION, command.name)
    conf.override = override
    conf.nonfatal = nonfatal


def _allowed_options(command: Command, text: str) -> int:
    """Return the Options of ``Options=LIST``, all of them for an empty list.

    An unknown one is an error in 2.4 and ends the list in 2.2.
    """
    words = [word for word in text.split(",") if word]
    bits = OPT_NONE if words else OPT_ALL | OPT_SYM_OWNER | OPT_MULTI
    for word in words:
        known = OPTIONS.get(word.lower())
        if known is None:
            if command.dialect.lenient_values:
                break
            raise ConfigError(f"Illegal option {word}")
        bits |= known
    return bits & ~OPT_UNSET


def set_allow_override_list(command: Command, conf: CoreDirConfig, words: list[str]) -> None:
    """Set AllowOverrideList: further directives that .htaccess may contain."""
    place = f"{command.place.path}:{command.place.line}"
    _useless(command, f"Useless use of AllowOverrideList at {place}", "AH00115")
    check_context(command, Forbidden.HTACCESS)
    known = state_of(command).configuration.modules
    names = set()
    for word in words:
        if word.lower() == "none":
            if len(words) != 1:
                raise ConfigError("'None' not allowed with other directives in AllowOverrideList")
            break
        rows = known.rows(word)
        if rows is None:
            command.warn(
                f"Discarding unrecognized directive `{word}' in AllowOverrideList at {place}", code="AH00116"
            )
        elif not any(row.where & (Context.OR_ALL | Context.ACCESS_CONF) for row in rows):
            command.warn(
                f"Discarding directive `{word}' not allowed in AllowOverrideList at {place}", code="AH02304"
            )
        else:
            names.add(word.lower())
    if names:
        state_of(command).configuration.declare(AUTHENTICATION, command.name)
    conf.override_list = frozenset(names)


def _useless(command: Command, text: str, code: str) -> None:
    """Warn about a context without effect."""
    try:
        check_context(command, Forbidden.LOCATION | Forbidden.FILES)
    except ConfigError:
        command.warn(text, code=code)


def set_access_names(command: Command, conf: CoreServerConfig, words: list[str]) -> None:
    """Set AccessFileName: names of .htaccess files, in the order of their lookup."""
    check_context(command, Forbidden.DIR_CONTEXT)
    conf.access_names = split_words(words[0])


DIR_SETTERS: Final[dict[str, Setter]] = {
    "AllowOverride": set_allow_override,
    "AllowOverrideList": set_allow_override_list,
    "Options": set_options,
}
SERVER_SETTERS: Final[dict[str, Setter]] = {
    "AccessFileName": set_access_names,
}
