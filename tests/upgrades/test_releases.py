"""The upgrade is tried from the last release, whose commit there is and has its version."""

import re
from pathlib import Path

import pytest

from tests.upgrades.versions import _git, commit_of, releases

CHANGELOG = (Path(__file__).parents[2] / "CHANGELOG.md").read_text()


def test_the_upgrade_is_tried_from_the_last_release_of_the_changelog() -> None:
    assert releases()[0] == re.findall(r"^## (\d+\.\d+\.\d+)", CHANGELOG, re.MULTILINE)[0]


@pytest.mark.parametrize("release", releases())
def test_a_release_is_a_commit_of_its_version(release: str) -> None:
    assert f'__version__ = "{release}"' in _git("show", f"{commit_of(release)}:malipo/__init__.py")
