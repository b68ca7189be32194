"""Draws QR codes as SVG inside the page, so that no secret goes to another service. The SVG has no inline style."""

import segno
from markupsafe import Markup

_BORDER = 4  # modules of quiet around it, as the standard asks for


def qr_code(text: str) -> Markup:
    """Dark on white in every colour scheme: some cameras read nothing else. The text itself is not in the picture."""
    drawn = segno.make_qr(text, error="m").svg_inline(
        border=_BORDER, dark="#000", light="#fff", svgclass="qr", lineclass=None, omitsize=True
    )
    return Markup(drawn)  # noqa: S704 - made of squares
