"""Directory listing as HTML: as a list, as preformatted columns, as a table."""

from __future__ import annotations

import time
from collections.abc import Iterator

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import lower
from whimbrel.http.syntax.url import escape_html, escape_path
from whimbrel.modules.generators.mod_autoindex.entries import Entry, special
from whimbrel.modules.generators.mod_autoindex.settings import (
    DESCRIPTION_WIDTH,
    FIT,
    NAME_WIDTH,
    AutoindexDirConfig,
    IndexOption,
)

DOCTYPE_24 = '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01//EN" "http://www.w3.org/TR/html4/strict.dtd">\n'
DOCTYPE_22 = '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 3.2 Final//EN">\n'
DOCTYPE_XHTML = '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN"\n"http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">\n'
NO_DATE = " " * 19


@dataclass(frozen=True, slots=True)
class ListingStyle:
    """Style of a listing: settings, options of this request, sort order, parameters of the sort links."""

    conf: AutoindexDirConfig
    options: IndexOption
    key: str
    descending: bool
    carried: str
    new: bool

    @property
    def end(self) -> str:
        """The end of an empty element."""
        return " />" if self.options & IndexOption.XHTML else ">"


def preamble(style: ListingStyle, title: str) -> str:
    """Return everything up to <body>; *title* is escaped."""
    conf = style.conf
    if style.options & IndexOption.XHTML:
        out = DOCTYPE_XHTML + '<html xmlns="http://www.w3.org/1999/xhtml">\n <head>\n  <title>Index of '
    else:
        out = (DOCTYPE_24 if style.new else DOCTYPE_22) + "<html>\n <head>\n  <title>Index of "
    out += f"{title}</title>\n"
    if conf.style_sheet is not None:
        out += f'  <link rel="stylesheet" href="{conf.style_sheet}" type="text/css"{style.end}\n'
    return f"{out}{conf.head_insert or ''} </head>\n <body>\n"


def heading(style: ListingStyle, title: str) -> str:
    """Return the <h1>; style sheets of 2.4 select it by its id."""
    styled = _is_styled(style)
    return f'  <h1 id="indextitle">Index of {title}</h1>\n' if styled else f"<h1>Index of {title}</h1>\n"


def size_text(size: int) -> str:
    """Format a size in four characters: ``  1 ``, ``2.0K``, `` 20K``, ``  - `` (apr_strfsize)."""
    if size < 0:
        return "  - "
    if size < 973:
        return f"{size:3d} "
    unit = 0
    while True:
        size, rest = divmod(size, 1024)
        if size >= 973:
            unit += 1
            continue
        letter = "KMGTPE"[unit]
        if size < 9 or (size == 9 and rest < 973):
            tenth = (rest * 5 + 256) // 512
            return f"{size + 1}.0{letter}" if tenth >= 10 else f"{size}.{tenth}{letter}"
        return f"{size + (rest >= 512):3d}{letter}"


def shortened(text: str, width: int, options: IndexOption, given: bool) -> str:
    """Cut a description at *width* characters; tags do not count, entities count as one.

    The width grows by the room of columns that are not shown.
    """
    left = width
    if not given:
        left += (
            6 * bool(options & IndexOption.SUPPRESS_ICON)
            + 19 * bool(options & IndexOption.SUPPRESS_MODIFIED)
            + 7 * bool(options & IndexOption.SUPPRESS_SIZE)
        )
    at = 0
    while at < len(text) and (left > 0 or text[at] == "<"):
        if text[at] == "<":
            close = text.find(">", at)
            if close < 0:
                return text
            at = close
        elif text[at] == "&":
            left -= 1
            close = text.find(";", at)
            if close < 0:
                return text
            at = close
        else:
            left -= 1
        at += 1
    return text[: at - 1] + ">" if left <= 0 and at < len(text) else text


def _anchor(entry: Entry) -> tuple[str, str]:
    """Return (address, shown name), the address escaped."""
    return escape_html(escape_path(entry.name)), "Parent Directory" if entry.parent else entry.name


def plain_list(_style: ListingStyle, entries: list[Entry]) -> Iterator[str]:
    """Iterate over the lines without FancyIndexing."""
    yield "<ul>"
    for address, name in map(_anchor, entries):
        yield f'<li><a href="{address}"> {escape_html(name)}</a></li>\n'
    yield "</ul>\n"


def _link(style: ListingStyle, text: str, column: str) -> str:
    """Return a column's title; its link sorts by it, descending if the listing is sorted by it ascending."""
    if style.options & IndexOption.SUPPRESS_SORT or style.options & IndexOption.IGNORE_CLIENT:
        return text
    direction = "D" if style.key == column and not style.descending else "A"
    return f'<a href="?C={column};O={direction}{escape_html(style.carried)}">{text}</a>'


def _image(style: ListingStyle, icon: str, alt: str) -> str:
    conf = style.conf
    is_sized = style.new or (conf.icon_width and conf.icon_height)  # 2.2 needs both
    width = f' width="{conf.icon_width}"' if is_sized and conf.icon_width else ""
    height = f' height="{conf.icon_height}"' if is_sized and conf.icon_height else ""
    return f'<img src="{escape_html(icon)}" alt="{alt}"{width}{height}{style.end}'


def _icon(style: ListingStyle, entry: Entry, address: str, none: str) -> str:
    """Return the icon of a line, a link under IconsAreLinks."""
    icon = entry.icon or style.conf.default_icon
    image = _image(style, icon, f"[{entry.alt or '   '}]") if icon else none
    return f'<a href="{address}">{image}</a>' if style.options & IndexOption.ICONS_ARE_LINKS else image


def _widths(style: ListingStyle, entries: list[Entry]) -> int:
    width = style.conf.name_width
    if width == FIT:
        return max([NAME_WIDTH, *(len("Parent Directory" if e.parent else e.name) for e in entries)])
    return NAME_WIDTH if width is None else width


def _name(name: str, width: int) -> tuple[str, str]:
    """Return the escaped name, cut if it is too long, and the blanks that fill its column."""
    if width and len(name) > width:
        name = name[: width - 3] + "..>"
    return escape_html(name), " " * (width - len(name))


def _date(style: ListingStyle, entry: Entry) -> str:
    if entry.modified < 0:
        return ""
    old = not style.new or style.conf.old_dates
    return time.strftime(
        "%d-%b-%Y %H:%M  " if old else "%Y-%m-%d %H:%M  ", time.localtime(entry.modified // 1_000_000)
    )


def _description(style: ListingStyle, entry: Entry) -> str:
    given = style.conf.description_width
    if entry.description is None or given == FIT:
        return entry.description or ""
    return shortened(
        entry.description, DESCRIPTION_WIDTH if given is None else given, style.options, given is not None
    )


def columns(style: ListingStyle, entries: list[Entry]) -> Iterator[str]:
    """Iterate over the lines of FancyIndexing without HTMLTable."""
    options = style.options
    width = _widths(style, entries)
    blank = special(style.conf.icons, "^^BLANKICON^^")
    out = ["<pre>"]
    if not options & IndexOption.SUPPRESS_ICON:
        out.append(_image(style, blank, "Icon ") + " " if blank else "      ")
    out += [_link(style, "Name", "N"), " " * (width - 4), " "]
    if not options & IndexOption.SUPPRESS_MODIFIED:
        out += [_link(style, "Last modified", "M"), "      "]
    if not options & IndexOption.SUPPRESS_SIZE:
        out += [_link(style, "Size", "S"), "  "]
    if not options & IndexOption.SUPPRESS_DESCRIPTION:
        out.append(_link(style, "Description", "D"))
    rule = "\n" if options & IndexOption.SUPPRESS_RULES else f"<hr{style.end}"
    yield "".join(out) + rule
    for entry in entries:
        yield _line(style, entry, width)
    yield ("" if options & IndexOption.SUPPRESS_RULES else rule) + "</pre>\n"


def _line(style: ListingStyle, entry: Entry, width: int) -> str:
    options = style.options
    (address, shown) = _anchor(entry)
    name, pad = _name(shown, width)
    out = "" if options & IndexOption.SUPPRESS_ICON else _icon(style, entry, address, "     ") + " "
    out += f'<a href="{address}">{name}</a>{pad} '
    if not options & IndexOption.SUPPRESS_MODIFIED:
        out += _date(style, entry) or NO_DATE
    if not options & IndexOption.SUPPRESS_SIZE:
        out += size_text(entry.size) + "  "
    if not options & IndexOption.SUPPRESS_DESCRIPTION:
        out += _description(style, entry)
    return out + "\n"


def table(style: ListingStyle, entries: list[Entry]) -> Iterator[str]:
    """Iterate over the rows of HTMLTable."""
    options = style.options
    width = _widths(style, entries)
    styled = _is_styled(style)
    cells = []
    if not options & IndexOption.SUPPRESS_ICON:
        blank = special(style.conf.icons, "^^BLANKICON^^")
        plain = ' valign="top"' if style.new else ""
        cells.append(
            f"<th{_column(styled, 'icon', plain)}>{_image(style, blank, '[ICO]') if blank else '&nbsp;'}</th>"
        )
    titles = [
        ("Name", "N", IndexOption.NONE, "name"),
        ("Last modified", "M", IndexOption.SUPPRESS_MODIFIED, "lastmod"),
        ("Size", "S", IndexOption.SUPPRESS_SIZE, "size"),
        ("Description", "D", IndexOption.SUPPRESS_DESCRIPTION, "desc"),
    ]
    cells += [
        f"<th{_column(styled, name)}>{_link(style, text, key)}</th>"
        for text, key, hidden, name in titles
        if not options & hidden
    ]
    lead = "   " if style.new else ""
    row = '<tr class="indexbreakrow">' if styled else "<tr>"
    rule = (
        ""
        if options & IndexOption.SUPPRESS_RULES
        else f'{lead}{row}<th colspan="{len(cells)}"><hr{style.end}</th></tr>\n'
    )
    row = '<tr class="indexhead">' if styled else "<tr>"
    table = '<table id="indexlist">' if styled else "<table>"
    head = f"  {table}\n   {row}{''.join(cells)}</tr>\n" if style.new else f"<table><tr>{''.join(cells)}</tr>"
    yield head + rule
    for number, entry in enumerate(entries):
        yield _begin(style, entry, number) + _cells(style, entry, width) + "</tr>\n"
    yield rule + "</table>\n"


def _is_styled(style: ListingStyle) -> bool:
    """Return True if headings, rows and cells have classes: in 2.4, for the style sheet."""
    return style.new and style.conf.style_sheet is not None


def _column(styled: bool, name: str, plain: str = "") -> str:
    """Return the attribute of a cell: the class of its column, or *plain* without a style sheet."""
    return f' class="indexcol{name}"' if styled else plain


def _begin(style: ListingStyle, entry: Entry, number: int) -> str:
    """Return the tag of a row; AddAltClass adds the alternative text to its class, unescaped as in httpd."""
    if not _is_styled(style):
        return "<tr>"
    alt = entry.alt if style.options & IndexOption.ALT_CLASS else None
    return f'   <tr class="{"odd" if number & 1 else "even"}{f"-{lower(alt)}" if alt else ""}">'


def _cells(style: ListingStyle, entry: Entry, width: int) -> str:
    """Return the cells of a row."""
    options = style.options
    styled = _is_styled(style)
    (address, shown) = _anchor(entry)
    name, pad = _name(shown, width)
    if style.conf.name_width == FIT:
        pad = ""
    right = ' align="right"'
    top = ' valign="top"'
    out = ""
    if not options & IndexOption.SUPPRESS_ICON:
        out = f"<td{_column(styled, 'icon', top)}>{_icon(style, entry, address, '&nbsp;')}</td>"
    out += f'<td{_column(styled, "name")}><a href="{address}">{name}</a>{pad}</td>'
    if not options & IndexOption.SUPPRESS_MODIFIED:
        date = _date(style, entry)
        out += f"<td{_column(styled, 'lastmod', right if date else '')}>{date or '&nbsp;'}</td>"
    if not options & IndexOption.SUPPRESS_SIZE:
        out += f"<td{_column(styled, 'size', right)}>{size_text(entry.size)}</td>"
    if not options & IndexOption.SUPPRESS_DESCRIPTION:
        out += f"<td{_column(styled, 'desc')}>{_description(style, entry) or '&nbsp;'}</td>"
    return out
