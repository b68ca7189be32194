"""The styles and the script inside each page, and the Content-Security-Policy that allows only these."""

import base64
import hashlib
import re
from functools import cache
from importlib import resources

_POLICY = (
    "default-src 'none'; style-src {styles}; script-src '{script}'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


@cache
def style() -> str:
    return _smaller("pay.css")


@cache
def poster_style() -> str:
    return _smaller("poster.css")


def _smaller(name: str) -> str:
    """Remove comments, and spaces that a browser does not need."""
    plain = re.sub(r"/\*.*?\*/", "", _text(name), flags=re.DOTALL)
    return re.sub(r"\s*([{};,])\s*|: ", lambda found: found[1] or ":", re.sub(r"\s+", " ", plain)).strip()


@cache
def script() -> str:
    """The script without comments and indents. It keeps its lines, because statements end with them."""
    lines = (line.strip() for line in _text("pay.js").splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))


@cache
def security_headers() -> dict[str, str]:
    return {
        "Content-Security-Policy": _POLICY.format(
            styles=" ".join(f"'{_hash_of(each)}'" for each in (style(), poster_style())), script=_hash_of(script())
        ),
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        # The shop of `returnUrl` gets no referrer with the link, and our own forms still send their origin.
        "Referrer-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
        "X-Robots-Tag": "noindex, nofollow",
        "Cache-Control": "no-store",
    }


def _text(name: str) -> str:
    return resources.files("malipo.pay_pages").joinpath("static", name).read_text("utf-8")


def _hash_of(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
