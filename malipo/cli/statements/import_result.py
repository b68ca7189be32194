"""The result of an import, as JSON and in words."""

import argparse
from typing import Any

from malipo.cli.output import print_result, printable
from malipo.cli.statements import matching_result
from malipo.reconciliation.imports.import_statement import ImportResult
from malipo.words.say import say


def print_both(arguments: argparse.Namespace, done: ImportResult, profile: str, found: matching_result.Found) -> int:
    """The results of the import and of the matching after it."""
    return print_result(
        arguments,
        as_json(done) | matching_result.as_json(found),
        f"{in_words(done, profile)}\n{matching_result.in_words(found)}",
    )


def as_json(done: ImportResult) -> dict[str, Any]:
    return {
        "id": done.file.id,
        "lines": done.file.line_count,
        "new": 0 if done.is_repeat else done.file.new_count,
        "opening": done.file.opening,
        "closing": done.file.closing,
        "begins": done.file.begins_at,
        "ends": done.file.ends_at,
        "problems": [say(each) for each in done.file.problems],
        "uncovered": None if done.uncovered is None else say(done.uncovered),
        "passedOver": dict(done.passed_over),
    }


def in_words(done: ImportResult, profile: str) -> str:
    file = done.file
    if done.is_repeat:
        return f"The same file was imported before, as {file.name} by {file.imported_by}: nothing was done."
    noun = "line" if file.line_count == 1 else "lines"
    lines = [f"{file.name}: {file.line_count:,} {noun}, {file.new_count:,} of them new, read as {profile}."]
    if file.opening is not None and file.closing is not None:
        lines.append(f"It opens with {file.opening_words} and closes with {file.closing_words} shillings.")
    if done.passed_over:
        words = ", ".join(f"{word} {count:,}" for word, count in sorted(done.passed_over.items()))
        lines.append(f"Rows that moved no money, and were passed over: {words}.")
    lines += [f"Accepted although: {say(each)}" for each in file.problems]
    if done.uncovered is not None:
        lines.append(say(done.uncovered))
    return "\n".join(printable(each) for each in lines)
