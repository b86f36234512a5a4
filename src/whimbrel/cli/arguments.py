"""httpd's command line, taken apart as APR's getopt does.  Imports nothing that takes time: -v, -V and -l answer in a few milliseconds."""

from __future__ import annotations

LETTERS = "D:C:c:d:f:e:E:k:vVlLtTSMh?X"
LONG = ("--dialect", "--envvars")
JSON = "--json"
SIGNALS = ("start", "stop", "restart", "graceful", "graceful-stop")
DUMPS = (("DUMP_VHOSTS", "DUMP_RUN_CFG", "DUMP_MODULES", "DUMP_INCLUDES"), ("DUMP_VHOSTS", "DUMP_MODULES"))  # these say -t: in 2.4, in 2.2
LEVELS = ("emerg", "alert", "crit", "error", "warn", "notice", "info", "debug", *(f"trace{n}" for n in range(1, 9)))


class WrongUse(Exception):
    """The command line can't be understood; *message* "" means that only the usage text is shown."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message)
        self.message = message


class Arguments:
    """What the command line says.

    *shown* is the command line as the log tells it; *show* is what to print instead of anything else: ``v``, ``V``, ``l``, ``L`` or "".
    """

    def __init__(self, program: str) -> None:
        self.program = program
        self.root = self.file = self.show = self.signal = self.level = self.error_file = self.envvars = ""
        self.dialect = "2.4"
        self.defines: list[str] = []
        self.before: list[str] = []
        self.after: list[str] = []
        self.check_only = self.single = False
        self.check_roots = True
        self.json = False
        self.shown = [program]

    @property
    def foreground(self) -> bool:
        """Whether the server stays in front."""
        return self.single or bool({"FOREGROUND", "NO_DETACH", "ONE_PROCESS", "DEBUG"} & set(self.defines))

    def take(self, letter: str, value: str) -> None:
        """Note one option; raises WrongUse."""
        if letter in "vVlL":
            self.show = letter
        elif letter in "h?":
            raise WrongUse
        elif letter in _LISTS:
            getattr(self, _LISTS[letter]).append(value)
        elif letter == "k":
            if value not in SIGNALS:
                raise WrongUse("illegal option -- k")
            self.signal = value
        elif letter == "e":
            if value.lower() not in LEVELS:
                raise WrongUse
            self.level = value.lower()
        elif letter in _TEXTS:
            setattr(self, _TEXTS[letter], value)
        else:
            self._take_flag(letter)
        if letter != "k":
            self.shown.append(f"-{letter} {value}" if value else f"-{letter}")

    def _take_flag(self, letter: str) -> None:
        if letter == "X":
            self.single = True
            self.defines.append("DEBUG")
        elif letter == "T":
            self.check_roots = False
        elif letter in "tSM":
            self.check_only = True
            self.defines += {"t": [], "S": ["DUMP_VHOSTS", "DUMP_RUN_CFG"], "M": ["DUMP_MODULES"]}[letter]


_LISTS = {"D": "defines", "C": "before", "c": "after"}
_TEXTS = {"d": "root", "f": "file", "E": "error_file"}


def parse(program: str, words: list[str]) -> Arguments:
    """The arguments behind the program's name; raises WrongUse.  -v, -V, -l and -L end the reading, as in httpd."""
    out = Arguments(program)
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word == JSON:
            out.json = True
            continue
        if word in LONG or word.partition("=")[0] in LONG:
            name, equals, value = word.partition("=")
            if not equals:
                if at >= len(words):
                    raise WrongUse(f"option requires an argument -- {name[2:]}")
                value, at = words[at], at + 1
            _take_long(out, name, value)
            continue
        if word in ("-", "--") or not word.startswith("-"):
            raise WrongUse
        at = _take_letters(out, word[1:], words, at)
        if out.show:
            out.json = out.json or JSON in words[at:]
            return out
    out.check_only = out.check_only or any(name in DUMPS[out.dialect == "2.2"] for name in out.defines)
    return out


def _take_long(out: Arguments, name: str, value: str) -> None:
    if name == "--envvars":
        out.envvars = value
    elif value not in ("2.2", "2.4", "guide"):
        raise WrongUse("the dialect must be 2.2, 2.4 or guide")
    else:
        out.dialect = value
        out.shown[0] = f"{out.program} --dialect {value}"


def _take_letters(out: Arguments, letters: str, words: list[str], at: int) -> int:
    """One word of letters; the place of the next word."""
    while letters:
        letter, letters = letters[0], letters[1:]
        place = LETTERS.find(letter)
        if place < 0 or letter == ":":
            raise WrongUse(f"illegal option -- {letter}")
        value = ""
        if LETTERS[place + 1 : place + 2] == ":":
            if letters:
                value, letters = letters, ""
            elif at < len(words):
                value, at = words[at], at + 1
            else:
                raise WrongUse(f"option requires an argument -- {letter}")
        out.take(letter, value)
        if out.show:
            break
    return at
