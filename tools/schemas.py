#!/usr/bin/env python3
"""Write the JSON schemas of the commands' documents from their models: python -m tools.schemas"""

from __future__ import annotations

import json
from pathlib import Path

import whimbrel.api.schemas
from whimbrel.api.schema_models import MODELS, schema_of


def main() -> None:
    """Write one file for each model."""
    directory = Path(whimbrel.api.schemas.__file__).parent
    for name in MODELS:
        (directory / f"{name}.json").write_text(json.dumps(schema_of(name), indent=1) + "\n")


if __name__ == "__main__":
    main()
