"""Entry point of `python -m whimbrel`."""

from __future__ import annotations

from whimbrel.cli.entry import main

if __name__ == "__main__":
    main()
