"""Alarms: each has a section in the runbook and cases that promtool tries, and asks only for metrics that there are."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from malipo.metrics.process_metrics import Metrics

ROOT = Path(__file__).parent.parent
RULES = ROOT / "deploy/prometheus/alerts.yml"
CASES = [ROOT / "deploy/prometheus/alerts.test.yml", ROOT / "deploy/prometheus/alerts-days.test.yml"]
RUNBOOK = ROOT / "docs/operating/runbook.md"
PARTS = ("What it means.", "What to look at.", "What to do.", "When to wake somebody.")
# Not of malipo's processes: Prometheus' own, what backups write, and the node exporter's.
OTHERS = {
    "up",
    "ALERTS",
    "malipo_backup_last_success_timestamp_seconds",
    "node_filesystem_avail_bytes",
    "node_filesystem_size_bytes",
}


def alerts() -> list[dict[str, Any]]:
    groups = yaml.safe_load(RULES.read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def sections() -> dict[str, str]:
    parts = re.split(r"^### (\w+)\n", RUNBOOK.read_text(), flags=re.MULTILINE)
    return {name: text.split("\n## ")[0] for name, text in zip(parts[1::2], parts[2::2], strict=True)}


def series() -> set[str]:
    """What a process exposes, as Prometheus names it."""
    kinds = re.findall(r"^# TYPE (malipo_\w+) (\w+)", Metrics().exposition().decode(), re.MULTILINE)
    endings = {"histogram": ("_bucket", "_sum", "_count")}
    return {name + ending for name, kind in kinds for ending in endings.get(kind, ("",))}


def test_each_alert_has_a_section_of_the_runbook_and_no_section_is_of_another() -> None:
    names = [alert["alert"] for alert in alerts()]
    assert len(names) == len(set(names))
    assert list(sections()) == names, "in the same order"
    for alert in alerts():
        assert alert["annotations"]["runbook_url"] == f"docs/operating/runbook.md#{alert['alert'].lower()}"
    for name, text in sections().items():
        places = [text.find(f"**{part}**") for part in PARTS]
        assert -1 < places[0] < places[1] < places[2] < places[3], f"{name} lacks a part"


def test_each_alert_has_a_severity_and_says_in_words_what_is_wrong() -> None:
    for alert in alerts():
        assert alert["labels"]["severity"] in ("critical", "warning")
        assert alert["annotations"]["summary"]
        assert alert["annotations"]["description"].endswith((".", ")"))
        assert set(alert) <= {"alert", "expr", "for", "labels", "annotations"}


def test_alerts_and_their_cases_ask_only_for_metrics_that_there_are() -> None:
    known = series() | OTHERS
    asked = {name for alert in alerts() for name in re.findall(r"malipo_\w+", alert["expr"])}
    made_up = {name for file in CASES for name in re.findall(r"series: '(\w+)", file.read_text())}
    assert asked - known == set()
    assert made_up - known == set()


def test_each_alert_has_a_case_in_which_it_rings_and_one_in_which_it_does_not() -> None:
    tried = [case for file in CASES for case in yaml.safe_load(file.read_text())["tests"]]
    expected = {f"{alert['alert']} {word}" for alert in alerts() for word in ("rings", "does not ring")}
    assert sorted(case["name"] for case in tried) == sorted(expected)
    for case in tried:
        [question] = case["promql_expr_test"]
        assert f'alertname="{case["name"].split()[0]}"' in question["expr"]
        assert bool(question["exp_samples"]) == case["name"].endswith(" rings")


def test_the_runbook_names_only_metrics_and_alerts_that_there_are() -> None:
    text = RUNBOOK.read_text()
    assert set(re.findall(r"`(malipo_\w+)`", text)) - series() == set()
    assert {name.lower() for name in re.findall(r"\[(Malipo\w+)\]", text)} <= {each.lower() for each in sections()}


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_promtool_agrees_with_every_case() -> None:
    found = ROOT / ".venv/prometheus/usr/bin/promtool"
    promtool = str(found) if found.exists() else shutil.which("promtool")
    assert promtool, "promtool is missing: run scripts/promtool, or install Prometheus so that promtool is in the PATH"
    subprocess.run([promtool, "check", "rules", RULES], check=True)
    subprocess.run([promtool, "test", "rules", *CASES], check=True)
