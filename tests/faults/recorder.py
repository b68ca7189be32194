"""A plugin of pytest: writes the tests that fail to a file, as they fail."""

import os
from pathlib import Path

import pytest


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        with Path(os.environ["FAULTS_FAILED"]).open("a") as file:
            file.write(f"{report.nodeid}\n")
