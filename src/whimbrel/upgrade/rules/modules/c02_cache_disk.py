"""C02: mod_disk_cache is mod_cache_disk: LoadModule lines and <IfModule> tests.

Document: documents/C02-cache-disk.md
"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.edits.helpers import replace_statement
from whimbrel.upgrade.files.needed_modules import missing_module_findings
from whimbrel.upgrade.model import Finding, Risk, Safety
from whimbrel.upgrade.rule import LOAD_MODULE, Rule
from whimbrel.upgrade.source.config_tree import ConfigTree


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield old names of the module, then the module if only its directives are there."""
    renamed = False
    for line in tree.named("loadmodule"):
        words = line.words()
        if words[:1] == ["disk_cache_module"]:
            renamed = True
            source = line.file.document.bytes[line.node.start : line.node.end].decode("latin-1").strip()
            text = source.replace("disk_cache_module", "cache_disk_module").replace(
                "mod_disk_cache.", "mod_cache_disk."
            )
            yield Finding(
                "C02",
                line.place,
                "mod_disk_cache is called mod_cache_disk: 2.4 cannot load the old file",
                f"load it as {text.split()[-1]}",
                Risk.BREAKS,
                Safety.SAFE,
                replace_statement(tree, line, [text]),
            )
    for section in tree.named("<ifmodule"):
        old = section.args.strip()
        new = {"mod_disk_cache.c": "mod_cache_disk.c", "disk_cache_module": "cache_disk_module"}.get(
            old.removeprefix("!")
        )
        effect = "reads" if old.startswith("!") else "skips"
        if new is not None and not tree.options.also_22:
            yield Finding(
                "C02",
                section.place,
                f"{old.removeprefix('!')} is called {new} in 2.4",
                f"2.4 {effect} the lines of this section where the old name stays",
                Risk.CHANGES,
                Safety.SAFE,
                (section.replace_args("!" * old.startswith("!") + new + ">"),),
            )
    if not renamed:  # otherwise the line with the new name is missing
        yield from missing_module_findings(tree, "C02")


RULE = Rule("C02", "cache-disk", "mod_disk_cache is mod_cache_disk", check, order=LOAD_MODULE)
