"""The clients have one number, of their own, and another one as soon as they differ from what was released."""

import json
import re
import tomllib

import malipo_client

from malipo.api.docs import downloads
from tests.clients.releases import CLIENTS, fingerprints, released


def test_all_have_the_same_number() -> None:
    typescript, php = CLIENTS / "typescript", (CLIENTS / "php" / "Malipo.php").read_text()
    source = (typescript / "src" / "version.ts").read_text() + php
    said = set(re.findall(r"""VERSION = ["']([^"']+)""", source))
    said.add(json.loads((typescript / "package.json").read_text())["version"])
    said.add(json.loads((typescript / "package-lock.json").read_text())["packages"][""]["version"])
    assert said == {malipo_client.__version__} == {downloads.VERSION}
    assert tomllib.loads((CLIENTS / "python" / "pyproject.toml").read_text())["project"]["dynamic"] == ["version"]


def test_one_that_has_changed_since_the_release_has_another_number() -> None:
    """Or `pip install -U` keeps the old one, which may have a fault that costs money."""
    numbers = [tuple(map(int, each.split("."))) for each in (*released(), malipo_client.__version__)]
    assert numbers == sorted(numbers)
    assert released().get(malipo_client.__version__, fingerprints()) == fingerprints(), "give the clients a new number"
