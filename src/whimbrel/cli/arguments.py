"""Parser of httpd's command line, as APR's getopt reads it.

Imports nothing heavy: -v, -V and -l run in a few milliseconds.
"""

from __future__ import annotations

from whimbrel.base.builds import AUTO, NAMES, Build
from whimbrel.utilities.usage_error import UsageError

LETTERS = "D:C:c:d:f:e:E:k:vVlLtTSMh?X"
LONG = ("--dialect", "--envvars", "--builtin")
JSON = "--json"
STRICT = "--strict"
SIGNALS = ("start", "stop", "restart", "graceful", "graceful-stop")
DUMPS = (
    ("DUMP_VHOSTS", "DUMP_RUN_CFG", "DUMP_MODULES", "DUMP_INCLUDES"),
    ("DUMP_VHOSTS", "DUMP_MODULES"),
)  # names that imply -t: in 2.4, in 2.2
LEVELS = (
    "emerg",
    "alert",
    "crit",
    "error",
    "warn",
    "notice",
    "info",
    "debug",
    *(f"trace{n}" for n in range(1, 9)),
)


class Arguments:
    """Parsed command line.

    Attributes:
        show: text to print instead of a start: ``v``, ``V``, ``l``, ``L`` or ""
        log_words: the command line as the server logs it
    """

    def __init__(self, program: str) -> None:
        self.program = program
        self.root = ""
        self.file = ""
        self.show = ""
        self.signal = ""
        self.level = ""
        self.error_file = ""
        self.envvars = ""
        self.dialect = "2.4"
        self.builtin = NAMES[0]
        self.defines: list[str] = []
        self.before: list[str] = []
        self.after: list[str] = []
        self.check_only = False
        self.is_single_process = False
        self.check_roots = True
        self.json = False
        self.is_strict = False
        self.log_words = [program]

    @property
    def version(self) -> str:
        """Return the version of httpd whose catalogue applies."""
        return "2.2" if self.dialect == "2.2" else "2.4"

    @property
    def named_build(self) -> Build | None:
        """Return the build that --builtin names; None for auto."""
        return None if self.builtin == AUTO else Build(self.builtin, self.version)

    @property
    def foreground(self) -> bool:
        """Return True if the server stays in the foreground."""
        return self.is_single_process or bool(
            {"FOREGROUND", "NO_DETACH", "ONE_PROCESS", "DEBUG"} & set(self.defines)
        )

    def take(self, letter: str, value: str) -> None:
        """Store one option; raises UsageError."""
        if letter in "vVlL":
            self.show = letter
        elif letter in "h?":
            raise UsageError
        elif letter in _LISTS:
            getattr(self, _LISTS[letter]).append(value)
        elif letter == "k":
            if value not in SIGNALS:
                raise UsageError("illegal option -- k")
            self.signal = value
        elif letter == "e":
            if value.lower() not in LEVELS:
                raise UsageError
            self.level = value.lower()
        elif letter in _TEXTS:
            setattr(self, _TEXTS[letter], value)
        else:
            self._take_flag(letter)
        if letter != "k":
            self.log_words.append(f"-{letter} {value}" if value else f"-{letter}")

    def _take_flag(self, letter: str) -> None:
        if letter == "X":
            self.is_single_process = True
            self.defines.append("DEBUG")
        elif letter == "T":
            self.check_roots = False
        elif letter in "tSM":
            self.check_only = True
            self.defines += {"t": [], "S": ["DUMP_VHOSTS", "DUMP_RUN_CFG"], "M": ["DUMP_MODULES"]}[letter]


_LISTS = {"D": "defines", "C": "before", "c": "after"}
_TEXTS = {"d": "root", "f": "file", "E": "error_file"}


def parse(program: str, words: list[str]) -> Arguments:
    """Parse the arguments after the name of the program; raises UsageError.

    Parsing ends at -v, -V, -l and 2.2's -L, as in httpd; 2.4's -L reads the configuration.
    """
    arguments = Arguments(program)
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word == JSON:
            arguments.json = True
            continue
        if word == STRICT:
            arguments.is_strict = True
            continue
        if word in LONG or word.partition("=")[0] in LONG:
            name, equals, value = word.partition("=")
            if not equals:
                if at >= len(words):
                    raise UsageError(f"option requires an argument -- {name[2:]}")
                value, at = words[at], at + 1
            _take_long(arguments, name, value)
            continue
        if word in ("-", "--") or not word.startswith("-"):
            raise UsageError
        at = _take_letters(arguments, word[1:], words, at)
        if arguments.show and (arguments.show != "L" or arguments.dialect == "2.2"):
            _take_rest(arguments, words[at:])
            return arguments
    arguments.check_only = (
        arguments.check_only
        or arguments.show == "L"
        or any(name in DUMPS[arguments.dialect == "2.2"] for name in arguments.defines)
    )
    return arguments


def _take_long(arguments: Arguments, name: str, value: str) -> None:
    if name == "--envvars":
        arguments.envvars = value
    elif name == "--builtin":
        if value not in NAMES:
            raise UsageError(f"the build must be {', '.join(NAMES[:-1])} or {NAMES[-1]}")
        arguments.builtin = value
        arguments.log_words[0] += f" --builtin {value}"
    elif value not in ("2.2", "2.4", "guide"):
        raise UsageError("the dialect must be 2.2, 2.4 or guide")
    else:
        arguments.dialect = value
        arguments.log_words[0] += f" --dialect {value}"


def _take_rest(arguments: Arguments, words: list[str]) -> None:
    """Parse our own options after -v, -V, -l and -L, where httpd reads no further."""
    arguments.json = arguments.json or JSON in words
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name == "--builtin":
            _take_long(arguments, name, value if equals else "".join(words[at + 1 : at + 2]))


def _take_letters(arguments: Arguments, letters: str, words: list[str], at: int) -> int:
    """Parse one argument of option letters; return the index of the next argument."""
    while letters:
        letter, letters = letters[0], letters[1:]
        index = LETTERS.find(letter)
        if index < 0 or letter == ":":
            raise UsageError(f"illegal option -- {letter}")
        value = ""
        if LETTERS[index + 1 : index + 2] == ":":
            if letters:
                value, letters = letters, ""
            elif at < len(words):
                value, at = words[at], at + 1
            else:
                raise UsageError(f"option requires an argument -- {letter}")
        arguments.take(letter, value)
        if arguments.show and arguments.show != "L":
            break
    return at
