"""Options of files and paths: ETag, sendfile and mmap, Content-MD5, PATH_INFO, encoded and doubled slashes.

EnableMMAP, EnableSendfile and ReadBufferSize are stored without effect: the server chooses how it transfers a
file. Manual: mod/core.html#fileetag and neighbours.
"""

from __future__ import annotations

from whimbrel.base.errors import ConfigError
from whimbrel.base.static_typing import Final
from whimbrel.config.core_config import (
    ETAG_DIGEST,
    ETAG_INODE,
    ETAG_MTIME,
    ETAG_NONE,
    ETAG_SIZE,
    CoreDirConfig,
    EtagBits,
)
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Setter
from whimbrel.directives.tokens import words as split_words
from whimbrel.modules.support.setters import ON_OFF, set_choice, set_flag

_WORDS = {"mtime": ETAG_MTIME, "inode": ETAG_INODE, "size": ETAG_SIZE, "digest": ETAG_DIGEST}
_ALL = ETAG_MTIME | ETAG_INODE | ETAG_SIZE


def set_file_etag(cmd: Command, conf: CoreDirConfig, words: list[str]) -> None:
    """Set FileETag: unsigned keywords replace the outer setting, signed ones change it."""
    now = conf.etag if isinstance(conf.etag, EtagBits) else EtagBits()
    is_first = True
    for word in split_words(words[0]):
        sign, keyword = (word[0], word[1:]) if word[:1] in ("+", "-") else ("", word)
        if is_first and not sign:
            now = EtagBits()
            is_first = False
        if keyword.lower() in ("all", "none"):
            if sign:
                raise ConfigError(f"FileETag keyword '{keyword}' cannot be used with '+' or '-'")
            now = EtagBits(_ALL if keyword.lower() == "all" else ETAG_NONE)
        else:
            now = _with_bit(now, sign, _bit(cmd, keyword))
    conf.etag = now


def _bit(cmd: Command, keyword: str) -> int:
    bit = _WORDS.get(keyword.lower(), 0)
    if not bit or (bit == ETAG_DIGEST and not cmd.dialect.keywords_24):
        raise ConfigError(f"Unknown keyword '{keyword}' for FileETag directive")
    return bit


def _with_bit(now: EtagBits, sign: str, bit: int) -> EtagBits:
    if not sign:
        return EtagBits((now.bits & ~ETAG_NONE) | bit)
    if sign == "+":
        return EtagBits(now.bits, now.added | bit, now.removed & ~bit)
    return EtagBits(now.bits, now.added & ~bit, now.removed | bit)


def on_off(name: str) -> Setter:
    """Return a setter of EnableMMAP or a similar directive, which is no flag in httpd's table."""
    return set_choice(name, ON_OFF, "parameter must be 'on' or 'off'")


def set_encoded_slashes(cmd: Command, conf: CoreDirConfig, words: list[str]) -> None:
    """Set AllowEncodedSlashes: On (decoded), NoDecode, Off."""
    word = words[0].lower()
    if word not in ("on", "off", "nodecode"):
        raise ConfigError(f"{cmd.name} must be On, Off, or NoDecode")
    conf.encoded_slashes = word != "off"
    conf.decode_slashes = word == "on"
    conf.slashes_of_host = cmd.in_virtual_host


DIR_SETTERS: Final[dict[str, Setter]] = {
    "FileETag": set_file_etag,
    "EnableMMAP": on_off("enable_mmap"),
    "EnableSendfile": on_off("enable_sendfile"),
    "ContentDigest": set_flag("content_md5"),
    "AcceptPathInfo": set_choice(
        "accept_path_info",
        {"off": 0, "on": 1, "default": 2},
        "AcceptPathInfo must be set to on, off or default",
    ),
    "AllowEncodedSlashes": set_encoded_slashes,
}
SERVER_SETTERS: Final[dict[str, Setter]] = {
    "MergeSlashes": set_flag("merge_slashes"),
}
