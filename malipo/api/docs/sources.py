"""Where the texts of the documentation, the clients and the examples are: in the package, or in a checkout.

The wheel carries them inside of the package (`[tool.hatch.build.targets.wheel.force-include]`). A checkout has them
beside it, so that there is one copy of each.
"""

from pathlib import Path

import malipo

_PACKAGE = Path(malipo.__file__).parent
_CARRIED = _PACKAGE / "_carried"
_ROOT = _CARRIED if _CARRIED.is_dir() else _PACKAGE.parent


def folder(name: str) -> Path:
    """`docs`, `clients` or `examples`. The changelog is beside them."""
    return _ROOT / name
