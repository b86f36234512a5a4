"""The document type HTML 4.01."""

from __future__ import annotations

from whimbrel.modules.filters.mod_proxy_html.elements import EMPTY, elements


def test_elements_of_the_document_type() -> None:
    found = elements()
    assert found["img"].required == {"src", "alt"}
    assert "background" in found["body"].deprecated
    assert found["font"].is_deprecated
    assert not found["p"].is_deprecated
    assert found.keys() >= EMPTY
