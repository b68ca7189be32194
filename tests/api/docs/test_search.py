"""The search finds the right page first. It is the script of the pages that is asked, in Node.js."""

import json
import subprocess

import pytest

from malipo.api import openapi
from malipo.api.docs import search_index
from tests.api.docs.samples import ROOT
from tests.api.docs.search_questions import QUESTIONS
from tests.examples.example_receivers import interpreter

_ASK = """
import { readFileSync } from "node:fs";
const [script, file, questions] = process.argv.slice(2);
const { prepare, search } = await import(`data:text/javascript;base64,${readFileSync(script).toString("base64")}`);
const index = prepare(JSON.parse(readFileSync(file)));
console.log(JSON.stringify(JSON.parse(questions).map((each) => search(index, each).map((found) => found.page.u))));
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    folder = tmp_path_factory.mktemp("search")
    (folder / "ask.mjs").write_text(_ASK)
    (folder / "index.json").write_bytes(search_index.index(openapi.load()))
    script = ROOT / "malipo" / "api" / "docs" / "static" / "search.js"
    asked = [*QUESTIONS, "", "?!", "the", "zzzzqqq", "<script>"]
    command = [interpreter("node"), "ask.mjs", str(script), "index.json", json.dumps(asked)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return dict(zip(asked, json.loads(done.stdout), strict=True))


def test_every_question_finds_its_page_first(answers: dict[str, list[str]]) -> None:
    wrong = {asked: answers[asked][:3] for asked, page in QUESTIONS.items() if answers[asked][:1] != [page]}
    assert wrong == {}


def test_what_nobody_wrote_is_not_found(answers: dict[str, list[str]]) -> None:
    assert answers[""] == answers["?!"] == answers["zzzzqqq"] == []
