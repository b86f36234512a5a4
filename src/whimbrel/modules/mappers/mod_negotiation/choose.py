"""Selection of the best variant: httpd's algorithm, and RVSA/1.0 for clients that request it.

Manual: content-negotiation.html#methods; RFC 2296.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.base.numbers import lower
from whimbrel.modules.mappers.mod_negotiation.accept import (
    CGI_TYPE,
    PSEUDO_HTML,
    Entry,
    Transparency,
    members,
)

if TYPE_CHECKING:
    from whimbrel.engine.request import Request
    from whimbrel.http.semantics.headers import Headers

PREFER = 2
FALLBACK = 4


@dataclass(slots=True, eq=False)
class Variant:
    """One variant and its grades; *size* is -1 until known, *body* is its text inside the map."""

    name: str = ""
    kind: str = ""
    charset: str = ""
    encoding: str = ""
    languages: list[str] = field(default_factory=list)
    description: str = ""
    source_quality: float = 1.0
    level: float = 0.0
    size: int = -1
    body: bytes | None = None
    sub: Request | None = None
    level_matched: float = 0.0
    stars: int = 0
    type_quality: float = 1.0
    encoding_quality: float = 1.0
    charset_quality: float = 1.0
    language_quality: float = 1.0
    language_index: int = -1
    definite: bool = True

    def take_type(self, media_type: Entry) -> None:
        """Set media type, level, quality and charset from *media_type*."""
        self.kind = media_type.name
        self.source_quality = media_type.quality
        self.level = media_type.level
        self.charset = media_type.charset


class Negotiation:
    """One negotiation: the variants and the client's preferences.

    *size_of* returns the size of a variant's file; *exact*: *priority* is compared with case.
    """

    def __init__(
        self,
        headers: Headers,
        priority: list[str],
        force: int,
        size_of: Callable[[Variant], int],
        *,
        exact: bool,
    ) -> None:
        self.variants: list[Variant] = []
        self.types = members(headers.get_list("Accept"))
        self.encodings = members(headers.get_list("Accept-Encoding"))
        self.languages = members(headers.get_list("Accept-Language"))
        self.charsets = members(headers.get_list("Accept-Charset"))
        self.graded = any(t.quality < 1.0 for t in self.types or ())
        self.priority = priority if exact else [lower(language) for language in priority]
        self.exact = exact
        self.force = force
        self.size_of = size_of
        self.transparent = False
        self.client = Transparency()
        self.default_language_quality = 1.0

    def add_default_types(self, prefer_scripts: bool) -> None:
        """Add defaults for absent Accept; scripts come last, or first for requests with a query or a body."""
        types = [Entry("*/*")] if self.types is None else list(self.types)
        quality = 2.0 if prefer_scripts else 0.001
        types.append(Entry(CGI_TYPE, 0.0 if self.client.rvsa else quality))
        self.types = types

    def best(self, preferred_language: str | None) -> Variant | None:
        """Return the variant to send, None for a list.

        *preferred_language* (the variable prefer-language) precedes all other languages.
        """
        if not self.client.literal and any(v.languages for v in self.variants):
            self.default_language_quality = 0.0001
        chosen = self._round(preferred_language) if preferred_language else None
        return chosen or self._round(None)

    def _round(self, preferred: str | None) -> Variant | None:
        best = None
        bestq = 0.0
        better = self._better_rvsa if self.client.rvsa else self._better
        for variant in self.variants:
            if preferred is not None and preferred not in variant.languages:
                continue
            self._grade_type(variant)
            if preferred is not None:
                variant.language_quality = 1.0
                variant.definite = True
            else:
                self._grade_language(variant)
            self._grade_encoding(variant)
            self._grade_charset(variant)
            q = better(variant, best, bestq) if self.client.may_choose else None
            if q is not None:
                best = variant
                bestq = q
        if best is None or bestq <= 0 or (self.client.rvsa and not best.definite):
            return None
        return best

    # grades -----------------------------------------------------------------------------------
    def _grade_type(self, variant: Variant) -> None:
        grade = 0.0
        definite = True
        for wanted in self.types or ():
            before = variant.stars
            if not _type_matches(wanted, variant) or before == variant.stars:
                continue
            guess = not self.client.literal and not self.graded
            if guess and variant.stars == 1:
                grade = 0.01
            elif guess and variant.stars == 2:
                grade = 0.02
            else:
                grade = wanted.quality
            definite = variant.stars == 3
        variant.type_quality = grade
        variant.definite = variant.definite and definite

    def _grade_language(self, variant: Variant) -> None:
        if not variant.languages:
            variant.language_quality = self.default_language_quality
        elif self.languages is None:
            variant.definite = False
        else:
            self._match_languages(variant, self.languages)
        self._apply_priority(variant)

    def _match_languages(self, variant: Variant, wanted: list[Entry]) -> None:
        """Grade the languages: the longest matching range counts, over several languages the best.

        ``*`` applies where it is better.
        """
        star = next((w for w in wanted if w.name == "*"), None)
        best: Entry | None = None
        fiddle = 0.0
        on_star = False
        for language in variant.languages:
            this: Entry | None = None
            for accepted in wanted:
                if accepted.name == "*":
                    continue
                if (language == accepted.name or language.startswith(accepted.name + "-")) and (
                    this is None or len(accepted.name) > len(this.name)
                ):
                    this = accepted
                prefix, dash, _ = accepted.name.partition("-")
                if this is None and dash and not self.client.literal and language.startswith(prefix):
                    fiddle = 0.001  # only fr-CA is accepted: prefer fr to nothing
            if best is None or (this is not None and this.quality > best.quality):
                best = this
            on_star = on_star or (this is None and star is not None)
        if on_star and star is not None and (best is None or star.quality > best.quality):
            best = star
            variant.definite = False
        variant.language_quality = fiddle if best is None else best.quality

    def _apply_priority(self, variant: Variant) -> None:
        if not (
            (self.force & PREFER and variant.language_index < 0)
            or (self.force & FALLBACK and not variant.language_quality)
        ):
            return
        places = [at for at in (self._place(language) for language in variant.languages) if at is not None]
        if not places:
            return
        if variant.language_quality:
            if self.force & PREFER:
                variant.language_index = min(places)
        elif self.force & FALLBACK:
            variant.language_index = min(places)
            variant.language_quality = 0.0001
            variant.definite = False

    def _place(self, language: str) -> int | None:
        """Return the position of *language* in LanguagePriority, compared by its first letters."""
        if not self.exact:
            language = lower(language)
        return next((at for at, prefix in enumerate(self.priority) if language.startswith(prefix)), None)

    def _grade_encoding(self, variant: Variant) -> None:
        plain = variant.encoding in ("", "7bit", "8bit", "binary")
        if self.encodings is None:
            variant.encoding_quality = 1.0 if plain else 0.5
            return
        name = "identity" if plain else variant.encoding.removeprefix("x-")
        fallback = 0.0001 if plain else 0.0
        for accepted in self.encodings:
            if accepted.name.removeprefix("x-") == name:
                variant.encoding_quality = accepted.quality
                return
            if accepted.name == "*":
                fallback = accepted.quality
        variant.encoding_quality = fallback

    def _grade_charset(self, variant: Variant) -> None:
        charset = variant.charset
        if self.charsets is None:
            if charset:
                variant.definite = False
            return
        if not charset:
            if not (variant.kind.startswith("text/") or variant.kind in PSEUDO_HTML) or self.client.literal:
                return
            charset = "iso-8859-1"
        fallback = 1.0 if charset == "iso-8859-1" else 0.0
        for accepted in self.charsets:
            if accepted.name == charset:
                variant.charset_quality = accepted.quality
                return
            if accepted.name == "*":
                fallback = accepted.quality
        variant.charset_quality = fallback

    # comparisons: the quality to continue with if *variant* is better than *best*, else None -----
    def _better_rvsa(self, variant: Variant, best: Variant | None, bestq: float) -> float | None:
        if not variant.encoding_quality:
            return None
        q = variant.type_quality * variant.source_quality * variant.charset_quality * variant.language_quality
        if q <= 0 or q < bestq:
            return None
        if q > bestq or best is None or variant.encoding_quality > best.encoding_quality:
            return q
        return None

    def _better(self, variant: Variant, best: Variant | None, bestq: float) -> float | None:
        if not (variant.encoding_quality and variant.language_quality and variant.charset_quality):
            return None
        q = variant.type_quality * variant.source_quality
        if not q or q < bestq:
            return None
        if best is None or q > bestq:
            return q
        steps = (
            variant.language_quality - best.language_quality,
            _by_index(variant, best),
            _by_level(variant, best),
            variant.charset_quality - best.charset_quality,
            _by_charset(variant, best),
            variant.encoding_quality - best.encoding_quality,
            self.size_of(best) - self.size_of(variant),
        )
        first = next((step for step in steps if step), 0)
        return q if first > 0 else None


def _type_matches(wanted: Entry, variant: Variant) -> bool:
    """Return True if the range covers the variant; sets `stars`: 1 anything, 2 the type, 3 subtype."""
    name = wanted.name
    kind = variant.kind
    if name in ("*", "*/*"):
        variant.stars = max(variant.stars, 1)
        return True
    if len(name) > 2 and name.endswith("/*") and kind.startswith(name[:-1]):
        variant.stars = max(variant.stars, 2)
        return True
    if (name == kind or (name == "text/html" and kind in PSEUDO_HTML)) and wanted.level >= variant.level:
        variant.level_matched, variant.stars = variant.level, 3
        return True
    return False


def _by_index(variant: Variant, best: Variant) -> int:
    a = variant.language_index
    b = best.language_index
    if b != -1 and (a == -1 or a > b):
        return -1
    return 1 if a != -1 and (b == -1 or a < b) else 0


def _by_level(variant: Variant, best: Variant) -> int:
    """Compare levels of the same type: the higher one that matched, else the lower one."""
    html = variant.kind in PSEUDO_HTML
    if (html and best.kind not in PSEUDO_HTML) or (not html and variant.kind != best.kind):
        return 0
    if variant.level_matched != best.level_matched:
        return 1 if variant.level_matched > best.level_matched else -1
    if variant.level == best.level:
        return 0
    if variant.level < best.level:
        return 1
    return -1


def _by_charset(variant: Variant, best: Variant) -> int:
    """Prefer an explicit charset other than the default one."""
    return 1 if variant.charset not in ("", "iso-8859-1") and best.charset in ("", "iso-8859-1") else 0
