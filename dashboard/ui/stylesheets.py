"""Where the style sheets are: inside an installed package, else beside it in the checkout."""

from __future__ import annotations

from pathlib import Path, PurePath

_PACKAGE = Path(__file__).resolve().parent.parent
_PARTS = ("app", "wall", "tree", "composer", "overlays", "replay", "ascii")


def stylesheets() -> list[str | PurePath]:
    """Give the absolute paths of every style sheet, in the order in which they apply."""
    packaged = _PACKAGE / "css"
    folder = packaged if packaged.is_dir() else _PACKAGE.parent / "css"
    return [folder / f"{part}.tcss" for part in _PARTS]
