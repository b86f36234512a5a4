"""The sides of `whimbrel explain --backups`: what an upgrade replaced, and what is there."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from whimbrel.base.lazy_dataclasses import replace
from whimbrel.config.options import LoadOptions
from whimbrel.explain.step import RequestExplanation
from whimbrel.upgrade.apply.journal import WriteError
from whimbrel.upgrade.apply.transaction import saved
from whimbrel.upgrade.knowledge.scope import UnknownItem
from whimbrel.utilities.usage_error import UsageError
from whimbrel.verify.changed_after_upgrade import changed_after_upgrade
from whimbrel.verify.texts_before_upgrade import texts_before_upgrade


def before_upgrade(options: LoadOptions, directory: str) -> LoadOptions:
    """Return *options* with the texts that the upgrade of the tree *directory* replaced, as `verify` and
    `replay` read them. Raises UsageError without such an upgrade.
    """
    try:
        texts = texts_before_upgrade(directory)
    except WriteError as problem:
        raise UsageError(str(problem)) from None
    return replace(options, overlay={**options.overlay, **texts})


def has_backups(directory: str) -> bool:
    """Return True if the texts are known that an upgrade of the tree *directory* replaced."""
    try:
        saved(directory)
    except WriteError:
        return False
    return True


def unknown_before_upgrade(
    directory: str, files: Iterable[str], explanations: Iterable[RequestExplanation]
) -> Iterator[UnknownItem]:
    """Yield an item for each file whose text of 2.2 is not known; *files*: those that were read.

    A .htaccess file matters if a request of *explanations* meets its directory, which is a name in a step.
    """
    steps = (step for explanation in explanations for step in explanation.all())
    texts = [text for step in steps for text in (step.what, step.result, step.detail)]
    try:
        items = list(changed_after_upgrade(directory, files))
    except WriteError as problem:
        raise UsageError(str(problem)) from None
    for item in items:
        path, is_htaccess, _ = item.subject.partition("/.htaccess ")
        is_met = not is_htaccess or any(f"{path}{os.sep}" in f"{text}{os.sep}" for text in texts)
        yield replace(item, matters=item.matters and is_met)
