"""docs/third-party.md shows the table of products; `python -m tests.meta.test_third_party` writes it anew."""

from __future__ import annotations

from pathlib import Path

from whimbrel.catalogue.third_party import ThirdPartyProduct, products

DOCUMENT = Path(__file__).parents[2] / "docs" / "third-party.md"
HEADING = "## The table\n\n"
ACTIONS = {"built-in": "built in", "ignorable": "refused, or ignored", "refused": "refused"}


def row(product: ThirdPartyProduct) -> str:
    """Return the line of a product."""
    modules = " ".join(f"`{module.identifier}`" for module in product.modules)
    successor = product.successor.replace("|", "\\|")
    return f"| {product.name} | {modules} | {product.effect} | {ACTIONS[product.action]} | {successor} |\n"


def table() -> str:
    """Return the table."""
    head = "| product | modules | effect | Whimbrel | in 2.4 |\n|---|---|---|---|---|\n"
    return head + "".join(map(row, products()))


def test_the_document_shows_the_table() -> None:
    assert DOCUMENT.read_text().partition(HEADING)[2] == table()


if __name__ == "__main__":
    DOCUMENT.write_text(DOCUMENT.read_text().partition(HEADING)[0] + HEADING + table())
