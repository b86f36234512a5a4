"""Settings of mod_autoindex, their merge and their setters."""

from __future__ import annotations

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_dataclasses import dataclass, field, fields, replace
from whimbrel.base.numbers import atoi, upper
from whimbrel.base.static_typing import Final, IntFlag
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Setter


class IndexOption(IntFlag):
    """Keywords of IndexOptions without a value."""

    NONE = 0
    FANCY = 1
    TABLE = 1 << 1
    ICONS_ARE_LINKS = 1 << 2
    SCAN_TITLES = 1 << 3
    SUPPRESS_ICON = 1 << 4
    SUPPRESS_MODIFIED = 1 << 5
    SUPPRESS_SIZE = 1 << 6
    SUPPRESS_DESCRIPTION = 1 << 7
    SUPPRESS_PREAMBLE = 1 << 8
    SUPPRESS_SORT = 1 << 9
    SUPPRESS_RULES = 1 << 10
    NOTHING = 1 << 11  # the keyword None
    DIRECTORIES_FIRST = 1 << 12
    VERSION_SORT = 1 << 13
    TRACK_MODIFIED = 1 << 14
    IGNORE_CASE = 1 << 15
    IGNORE_CLIENT = 1 << 16
    XHTML = 1 << 17
    SHOW_FORBIDDEN = 1 << 18
    ALT_CLASS = 1 << 19


WORDS: Final = {
    "fancyindexing": IndexOption.FANCY,
    "foldersfirst": IndexOption.DIRECTORIES_FIRST,
    "htmltable": IndexOption.TABLE,
    "iconsarelinks": IndexOption.ICONS_ARE_LINKS,
    "ignorecase": IndexOption.IGNORE_CASE,
    "ignoreclient": IndexOption.IGNORE_CLIENT,
    "scanhtmltitles": IndexOption.SCAN_TITLES,
    "suppresscolumnsorting": IndexOption.SUPPRESS_SORT,
    "suppressdescription": IndexOption.SUPPRESS_DESCRIPTION,
    "suppresshtmlpreamble": IndexOption.SUPPRESS_PREAMBLE,
    "suppressicon": IndexOption.SUPPRESS_ICON,
    "suppresslastmodified": IndexOption.SUPPRESS_MODIFIED,
    "suppressrules": IndexOption.SUPPRESS_RULES,
    "suppresssize": IndexOption.SUPPRESS_SIZE,
    "trackmodified": IndexOption.TRACK_MODIFIED,
    "versionsort": IndexOption.VERSION_SORT,
    "xhtml": IndexOption.XHTML,
    "showforbidden": IndexOption.SHOW_FORBIDDEN,
}
_OLD_DATES: Final = "useolddateformat"
WORDS_24: Final = {
    **WORDS,
    "addaltclass": IndexOption.ALT_CLASS,
    _OLD_DATES: IndexOption.NONE,
}

FIT: Final = -1  # NameWidth=* and DescriptionWidth=*: as wide as the longest
NAME_WIDTH: Final = 23
DESCRIPTION_WIDTH: Final = 23
ICON_SIZE: Final = {"icon_width": 20, "icon_height": 22}


@dataclass(frozen=True, slots=True)
class Item:
    """An icon or alternative text.

    *data* applies to files whose path (or type, or encoding, according to *by*) matches *pattern*, below the
    section's *path*.
    """

    by: str
    pattern: str
    path: str
    data: str


@dataclass(frozen=True, slots=True)
class Description:
    """An AddDescription; *whole* compares the path, *wild* has wildcards, else parts match."""

    pattern: str
    is_path: bool
    wild: bool
    text: str


@dataclass(slots=True)
class AutoindexDirConfig:
    """Per-directory settings; None: not set here.

    *options*, *added*, *removed* are the keywords of IndexOptions without sign and with ``+`` and ``-``. The
    signed ones take effect when the record is merged onto another; the main server's own record is merged
    onto none (*outermost*). UseOldDateFormat, with any sign, sets *old_dates*, which nothing takes back.
    """

    options: IndexOption = IndexOption.NONE
    added: IndexOption = IndexOption.NONE
    removed: IndexOption = IndexOption.NONE
    outermost: bool = False
    merged: bool = False
    icons: list[Item] = field(default_factory=list)
    alts: list[Item] = field(default_factory=list)
    descriptions: list[Description] = field(default_factory=list)
    ignored: list[tuple[str, str]] = field(default_factory=list)  # (pattern, path of the section)
    forget_ignored: bool = False
    header: str | None = None
    readme: str | None = None
    default_icon: str | None = None
    style_sheet: str | None = None
    head_insert: str | None = None
    content_type: str | None = None
    charset: str | None = None
    icon_width: int | None = None
    icon_height: int | None = None
    name_width: int | None = None
    description_width: int | None = None
    old_dates: bool | None = None
    key: str | None = None  # N, M, S, D
    direction: str | None = None  # A, D

    def merge_onto(self, base: AutoindexDirConfig) -> AutoindexDirConfig:
        """Merge onto *base*: inner list entries first, inner values if set, options as in `settled`."""
        out = AutoindexDirConfig()
        for f in fields(self):
            inner = getattr(self, f.name)
            outer = getattr(base, f.name)
            if isinstance(inner, list):
                setattr(out, f.name, inner + outer)
            else:
                setattr(out, f.name, outer if inner is None else inner)
        if self.forget_ignored:
            out.ignored = self.ignored
        base = base.settled()
        out.merged = True
        out.outermost = False
        out.options, out.added, out.removed = self._options_over(base)
        return out

    def _options_over(self, base: AutoindexDirConfig) -> tuple[IndexOption, IndexOption, IndexOption]:
        if self.options & IndexOption.NOTHING:
            return IndexOption.NOTHING, IndexOption.NONE, IndexOption.NONE
        if self.options:
            return self.options, IndexOption.NONE, IndexOption.NONE
        added = (base.added | self.added) & ~self.removed
        removed = base.removed | self.removed
        return ((base.options & ~IndexOption.NOTHING) | added) & ~removed, added, removed

    def settled(self) -> AutoindexDirConfig:
        """Return the record as requests use it: a section's own record is merged onto the empty one."""
        if self.outermost or self.merged:
            return self
        options, added, removed = self._options_over(AutoindexDirConfig(merged=True))
        return replace(self, options=options, added=added, removed=removed, merged=True)


# IndexOptions -----------------------------------------------------------------------------------
def set_options(cmd: Command, conf: AutoindexDirConfig, words: list[str]) -> None:
    """Set keywords with and without sign; an unsigned one discards the signed ones before it."""
    conf.outermost = not cmd.path and not cmd.in_virtual_host
    known = WORDS_24 if cmd.dialect.keywords_24 else WORDS
    for word in words:
        sign, word = (word[0], word[1:]) if word[:1] in ("+", "-") else ("", word)
        low = word.lower()
        option = known.get(low)
        if option is not None and low == _OLD_DATES:
            conf.old_dates = True
        if option is None:
            if low == "none":
                _set_none(conf, sign)
                continue
            _set_value(conf, sign, word)
            option = IndexOption.NONE
        if not sign:
            conf.options, conf.added, conf.removed = conf.options | option, IndexOption.NONE, IndexOption.NONE
        elif sign == "+":
            conf.added, conf.removed = conf.added | option, conf.removed & ~option
        else:
            conf.removed, conf.added = conf.removed | option, conf.added & ~option
    if conf.options & IndexOption.NOTHING and conf.options != IndexOption.NOTHING:
        raise ConfigError("Cannot combine other IndexOptions keywords with 'None'")


def _set_none(conf: AutoindexDirConfig, sign: str) -> None:
    if sign:
        raise ConfigError("Cannot combine '+' or '-' with 'None' keyword")
    conf.options = IndexOption.NOTHING
    conf.added = IndexOption.NONE
    conf.removed = IndexOption.NONE


_SIZES: Final = {"iconwidth": ("icon_width", "IconWidth"), "iconheight": ("icon_height", "IconHeight")}
_WIDTHS: Final = {
    "namewidth": ("name_width", "NameWidth", NAME_WIDTH, 5),
    "descriptionwidth": ("description_width", "DescriptionWidth", DESCRIPTION_WIDTH, 12),
}


def _set_value(conf: AutoindexDirConfig, sign: str, word: str) -> None:
    """Set a keyword that has a value."""
    name, equals, value = word.partition("=")
    low = name.lower()
    if low in _SIZES:
        attribute, shown = _SIZES[low]
        if equals and sign == "-":
            raise ConfigError(f"Cannot combine '-' with {shown}=n")
        if equals:
            size = atoi(value)
        else:
            size = 0 if sign == "-" else ICON_SIZE[attribute]
        setattr(conf, attribute, size)
    elif low in _WIDTHS:
        _set_width(conf, sign, equals, value, *_WIDTHS[low])
    elif low == "type" and equals:
        conf.content_type = value
    elif low == "charset" and equals:
        conf.charset = value
    else:
        raise ConfigError("Invalid directory indexing option")


def _set_width(
    conf: AutoindexDirConfig,
    sign: str,
    equals: str,
    value: str,
    attribute: str,
    shown: str,
    default: int,
    least: int,
) -> None:
    if not equals:
        if sign != "-":
            raise ConfigError(f"{shown} with no value may only appear as '-{shown}'")
        setattr(conf, attribute, default)
        return
    if sign == "-":
        raise ConfigError(f"Cannot combine '-' with {shown}=n")
    if value.startswith("*"):
        setattr(conf, attribute, FIT)
        return
    width = atoi(value)
    if width and width < least:
        raise ConfigError(f"{shown} value must be greater than {least}")
    setattr(conf, attribute, width)


# The other directives ---------------------------------------------------------------------------
_KEYS: Final = {"name": "N", "date": "M", "size": "S", "description": "D"}


def set_order(_cmd: Command, conf: AutoindexDirConfig, words: list[str]) -> None:
    """Set IndexOrderDefault direction key."""
    if words[0].lower() not in ("ascending", "descending"):
        raise ConfigError("First keyword must be 'Ascending' or 'Descending'")
    if words[1].lower() not in _KEYS:
        raise ConfigError("Second keyword must be 'Name', 'Date', 'Size', or 'Description'")
    conf.direction = upper(words[0][0])
    conf.key = _KEYS[words[1].lower()]


def _item(cmd: Command, by: str, to: str, data: str) -> Item:
    if by == "path" and to == "**DIRECTORY**":
        to = "^^DIRECTORY^^"
    wild = "*" in to or "?" in to
    return Item(
        by, f"*{to}" if by == "path" and not wild and not to.startswith("^^") else to, f"{cmd.path}*", data
    )


def add_alt(by: str) -> Setter:
    """Return a setter of AddAlt, AddAltByType or AddAltByEncoding: text name."""

    def add(cmd: Command, conf: AutoindexDirConfig, words: list[str]) -> None:
        data = words[0].strip('"')
        to = _encoding(words[1]) if by == "encoding" else words[1]
        conf.alts = [*conf.alts, _item(cmd, by, to, data)]

    return add


def add_icon(by: str) -> Setter:
    """Return a setter of AddIcon, AddIconByType or AddIconByEncoding: icon or (text,icon), then a name."""

    def add(cmd: Command, conf: AutoindexDirConfig, words: list[str]) -> None:
        icon = words[0]
        to = _encoding(words[1]) if by == "encoding" else words[1]
        if icon.startswith("("):
            if ")" not in icon:
                raise ConfigError("missing closing paren")
            alt, comma, rest = icon[1:].partition(",")
            if not comma:
                return
            conf.alts = [*conf.alts, _item(cmd, by, to, alt)]
            icon = rest.partition(")")[0]
        conf.icons = [*conf.icons, _item(cmd, by, to, icon)]

    return add


def _encoding(name: str) -> str:
    """Normalize an encoding: gzip and x-gzip are one, so are compress and x-compress."""
    return name


def add_description(_cmd: Command, conf: AutoindexDirConfig, words: list[str]) -> None:
    """Set AddDescription text name."""
    text, to = words
    is_path = "/" in to
    wild = is_path or any(c in to for c in "*?[")
    # more may stand on both sides of a pattern: l* is *l**, which f.html matches
    pattern = f"{'*/' if is_path else '*'}{to}*" if wild else to
    conf.descriptions = [*conf.descriptions, Description(pattern, is_path, wild, text)]


def add_ignored(cmd: Command, conf: AutoindexDirConfig, words: list[str]) -> None:
    """Set IndexIgnore name."""
    conf.ignored = [*conf.ignored, (words[0], f"{cmd.path}*")]
