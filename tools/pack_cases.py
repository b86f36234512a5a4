#!/usr/bin/env python3
"""Pack recorded cases for the tests of the repository: tools/pack_cases.py ../shared/conformance/given

Every FAMILY.jsonl of the directory becomes tests/conformance/cases/FAMILY.jsonl.xz, byte for byte the same.
"""

from __future__ import annotations

import lzma
import sys
from pathlib import Path

CASES = Path(__file__).resolve().parents[1] / "tests" / "conformance" / "cases"


def pack(source: Path) -> int:
    """Write the packed copy of one file; return its size in bytes."""
    packed = lzma.compress(source.read_bytes(), preset=9 | lzma.PRESET_EXTREME)
    (CASES / f"{source.name}.xz").write_bytes(packed)
    return len(packed)


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    CASES.mkdir(parents=True, exist_ok=True)
    sources = sorted(Path(sys.argv[1]).glob("*.jsonl"))
    print(f"{len(sources)} families, {sum(map(pack, sources))} bytes")
    return 0 if sources else 1


if __name__ == "__main__":
    sys.exit(main())
