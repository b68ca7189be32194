"""Releases: the upgrade is tried from the last one, and the page about upgrades has each as it is."""

import re
from pathlib import Path

import pytest

from malipo import __version__
from malipo.db.schema import OLDEST_SCHEMA, migrations
from tests.upgrades.versions import ROOT, _git, commit_of, releases, tag_of

CHANGELOG = (ROOT / "CHANGELOG.md").read_text()
PAGE = (ROOT / "docs/operating/upgrading.md").read_text()
_SETTING = re.compile(r"^    (\w+): .*= setting\(", re.MULTILINE)


def _row(release: str) -> list[str]:
    [row] = re.findall(rf"^\| {re.escape(release)} \| [^|]* \| (\d+) \| (\d+) \| ([^|]*) \|$", PAGE, re.MULTILINE)
    return list(row)


def test_the_upgrade_is_tried_from_the_last_release_of_the_changelog() -> None:
    """This version counts when it has its tag: until then it is what is upgraded to."""
    listed = re.findall(r"^## (\d+\.\d+\.\d+) \(", CHANGELOG, re.MULTILINE)
    assert releases()[0] == next(each for each in listed if each != __version__ or tag_of(each))


@pytest.mark.parametrize("release", releases())
def test_a_release_is_a_commit_of_its_version(release: str) -> None:
    assert f'__version__ = "{release}"' in _git("show", f"{commit_of(release)}:malipo/__init__.py")


@pytest.mark.skipif(bool(tag_of(__version__)), reason="the row is that of the tag, and this is a later commit")
def test_this_version_is_in_the_table_with_its_migrations_and_what_can_come_back() -> None:
    newest, oldest, beside = _row(__version__)
    assert (int(newest), int(oldest)) == (migrations()[-1].number, OLDEST_SCHEMA)
    served = max(each.serves for each in migrations())
    assert beside == ", ".join(each for each in releases() if int(_row(each)[0]) >= served)


@pytest.mark.parametrize("release", releases())
def test_the_page_lists_every_setting_that_an_older_version_refuses(release: str) -> None:
    [row] = re.findall(rf"^\| {re.escape(release)} \| (?:the same, and )?(`MALIPO_.*) \|$", PAGE, re.MULTILINE)
    files = _git("ls-tree", "--name-only", commit_of(release), "malipo/settings/").split()
    known = {name for each in files for name in _SETTING.findall(_git("show", f"{commit_of(release)}:{each}"))}
    current = {
        name for each in Path(ROOT, "malipo/settings").glob("*.py") for name in _SETTING.findall(each.read_text())
    }
    assert "database_url" in known & current
    # The newest release's row stands first, and those below it refuse the same.
    above = re.findall(r"^\| \d+\.\d+\.\d+ \| (`MALIPO_.*) \|$", PAGE, re.MULTILINE)
    reported = set(re.findall(r"`(MALIPO_\w+)`", " ".join([row, *above])))
    assert reported == {f"MALIPO_{name.upper()}" for name in current - known}
