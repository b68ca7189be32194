"""Runs the unit tests of pure modules against mutants of them, and names those that survive.

    .venv/bin/python -m tests.faults.mutants mutants.jsonl

Every module has its tests, which are collected once; those that need a database are left out. Each mutant is a fork of
that process, in which the code of the functions that it changes is put into the functions that are there. A mutant that
cannot be put there (a default of a struct, an option of a class) is run in a process that has not imported malipo yet,
and that imports the mutant instead of the module. That costs seconds, and not a tenth of one.
"""

import ast
import difflib
import json
import os
import resource
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest
from hypothesis import Phase, settings

from tests.faults.preloaded import import_all_but_malipo

TESTS = {
    "malipo/money.py": ("test_values.py", "payments/test_fees.py", "reconciliation/test_action_moves.py"),
    "malipo/payments/fees.py": ("payments/test_fees.py",),
    "malipo/payments/transaction.py": ("payments/test_transaction.py", "payments/refunds/test_refundable.py"),
    "malipo/payments/status_effects.py": ("payments/test_status_effects.py", "payments/test_transaction.py"),
    "malipo/payments/correction_moves.py": ("payments/test_correction_moves.py", "reconciliation/test_action_moves.py"),
    "malipo/payments/refunds/refundable.py": ("payments/refunds/test_refundable.py",),
    "malipo/payments/limits/key_limits.py": ("payments/test_key_limits.py",),
    "malipo/payments/limits/payout_sums.py": ("payments/test_key_limits.py", "payments/test_person_limits.py"),
    "malipo/payments/limits/person_limits.py": ("payments/test_person_limits.py",),
    "malipo/payments/idempotency.py": ("payments/test_idempotency.py",),
    "malipo/payments/collection_fast_path_request.py": ("payments/test_collection_fast_path_request.py",),
    "malipo/payments/failure_reasons.py": ("payments/test_failure_details.py",),
    "malipo/payments/network_answer": ("payments/network_answer",),
    "malipo/payments/dispatch.py": ("payments/network_answer",),
    "malipo/payments/batches/spreadsheet/repaired_cells.py": ("payments/batches/spreadsheet",),
    "malipo/ledger/accounts.py": ("ledger/test_accounts.py", "payments/test_correction_moves.py"),
    "malipo/reconciliation/exceptions/action_moves.py": ("reconciliation/test_action_moves.py",),
    "malipo/reconciliation/matching/transfer_pairs.py": ("reconciliation/test_book_lines.py",),
    "malipo/reconciliation/matching/possible_payment.py": ("reconciliation/test_book_lines.py",),
    "malipo/reconciliation/statements/coverage.py": (
        "reconciliation/test_flag_absent.py",
        "reconciliation/close/test_coverage.py",
    ),
    "malipo/approvals/act_rules.py": ("approvals/test_act_rules.py",),
    "malipo/accounts/four_eyes.py": (
        "accounts/test_four_eyes_chains.py",
        "merchants/test_four_eyes.py",
        "operators/test_four_eyes.py",
    ),
    "malipo/webhooks/delivery_state.py": ("webhooks/test_delivery_state.py", "webhooks/test_retry_schedule.py"),
    "malipo/restore/mark_comparison.py": ("restore/test_mark_comparison.py",),
}
_QUIET = ("-q", "-s", "-p", "no:cacheprovider", "--assert=plain", "--no-header", "--no-summary")
_PHASES = (Phase.explicit, Phase.generate)
_CANNOT = 4  # the exit code of a mutant that cannot be put into a running process
_MOST_SECONDS = 20  # of processor time: a mutant that never ends has been noticed


class CannotApply(Exception):  # noqa: N818
    """It changes how a class is made, a default of a struct, or a method that calls super()."""


class _WithoutDatabase:
    """A plugin of pytest: leaves out the tests that need a database."""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Those that draw many examples are the last: most mutants die before."""
        items[:] = [each for each in items if "postgres" not in getattr(each, "fixturenames", ())]
        items.sort(key=lambda each: hasattr(getattr(each, "obj", None), "hypothesis"))
        for each in items:
            test: Any = getattr(each, "obj", None)
            if hasattr(test, "hypothesis"):  # Nobody reads the smallest example, and it takes a minute to find.
                own = test._hypothesis_internal_use_settings
                test._hypothesis_internal_use_settings = settings(own, phases=_PHASES, database=None)


class _Mutants(_WithoutDatabase):
    """A plugin of pytest: instead of running the tests once, it runs them against each mutant."""

    def __init__(self, mutants: Sequence[dict[str, str]]) -> None:
        self._mutants = mutants
        self.outcomes: list[str] = []

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            raise session.Interrupted("the tests cannot be collected")
        assert session.items, "a module has unit tests"
        if (left := _outcome_of(partial(_run, session))) != "survived":
            raise session.Interrupted(f"the tests fail without a mutant: {left}")
        for mutant in self._mutants:
            self.outcomes.append(_outcome_of(partial(_run_with, session, mutant)))
        return True


def _run_with(session: pytest.Session, mutant: dict[str, str]) -> int:
    try:
        apply(mutant)
    except CannotApply:
        return _CANNOT
    return _run(session)


def _run(session: pytest.Session) -> int:
    for item, following in zip(session.items, [*session.items[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.testsfailed:
            return 1
    return 0


def _outcome_of(run: Callable[[], int]) -> str:
    """Of the exit code of a fork."""
    pid = os.fork()
    if pid == 0:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        resource.setrlimit(resource.RLIMIT_CPU, (_MOST_SECONDS, _MOST_SECONDS))  # pytest's own limit takes every alarm
        code = 1
        try:
            code = run()
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    return {0: "survived", _CANNOT: "not run"}.get(os.waitstatus_to_exitcode(status), "killed")


class _Instead(MetaPathFinder):
    """Imports a mutant instead of its module."""

    def __init__(self, mutant: dict[str, str]) -> None:
        self._name = _module_name(mutant)
        self._loader = _Loader(self._name, str(Path(mutant["path"]).resolve()))
        self._loader.source = mutant["source"]

    def find_spec(self, fullname: str, *_: object) -> ModuleSpec | None:
        return spec_from_file_location(fullname, loader=self._loader) if fullname == self._name else None


class _Loader(SourceFileLoader):
    source = ""

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.source, self.path, "exec")


def _run_afresh(tests: Sequence[str], mutant: dict[str, str] | None) -> int:
    if mutant is not None:
        sys.meta_path.insert(0, _Instead(mutant))
    return int(pytest.main([*_QUIET, "-x", *tests], plugins=[_WithoutDatabase()]) != 0)


def _module_name(mutant: dict[str, str]) -> str:
    return mutant["path"].removesuffix(".py").replace("/", ".")


def apply(mutant: dict[str, str]) -> None:
    """Put what a mutant changes into the module that is imported."""
    module = sys.modules[_module_name(mutant)]
    before, after = ast.parse(Path(mutant["path"]).read_text()), ast.parse(mutant["source"])
    for old, new in zip(before.body, after.body, strict=True):
        if ast.dump(old) != ast.dump(new):
            _replace(module, vars(module), new, old)


def _replace(module: ModuleType, namespace: Any, new: ast.stmt, old: ast.stmt) -> None:
    match new:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            _replace_code(_function_in(namespace[new.name]), _compiled(module, new))
        case ast.ClassDef():
            assert isinstance(old, ast.ClassDef)
            if [ast.dump(each) for each in _around(old)] != [ast.dump(each) for each in _around(new)]:
                raise CannotApply
            members = vars(namespace[new.name])
            for was, now in zip(old.body, new.body, strict=True):
                if ast.dump(was) != ast.dump(now):
                    if not isinstance(now, ast.FunctionDef | ast.AsyncFunctionDef):
                        raise CannotApply
                    _replace(module, members, now, was)
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            kept = namespace[name]
            exec(compile(ast.Module([new], []), str(module.__file__), "exec"), vars(module))  # noqa: S102
            for each in [each for key, each in sys.modules.items() if key.startswith(("malipo", "tests"))]:
                if getattr(each, name, None) is kept:
                    setattr(each, name, vars(module)[name])
        case _:
            raise CannotApply


def _around(class_: ast.ClassDef) -> list[ast.AST]:
    return [*class_.decorator_list, *class_.bases, *class_.keywords]


def _compiled(module: ModuleType, new: ast.FunctionDef | ast.AsyncFunctionDef) -> FunctionType:
    new.decorator_list = []
    scope = dict(vars(module))
    exec(compile(ast.Module([new], []), str(module.__file__), "exec"), scope)  # noqa: S102
    made = scope[new.name]
    assert isinstance(made, FunctionType)
    return made


def _function_in(found: Any) -> FunctionType:
    """Under a property or a decorator."""
    found = (
        getattr(found, "fget", None) or getattr(found, "__func__", None) or getattr(found, "__wrapped__", None) or found
    )
    if not isinstance(found, FunctionType):
        raise CannotApply
    return found


def _replace_code(kept: FunctionType, made: FunctionType) -> None:
    if kept.__code__.co_freevars != made.__code__.co_freevars:
        raise CannotApply
    code: CodeType = made.__code__
    kept.__code__ = code
    kept.__defaults__, kept.__kwdefaults__ = made.__defaults__, made.__kwdefaults__


def changes(mutant: dict[str, str]) -> str:
    """The lines that are different."""
    lines = difflib.unified_diff(
        Path(mutant["path"]).read_text().splitlines(), mutant["source"].splitlines(), n=0, lineterm=""
    )
    return "\n".join(each for each in list(lines)[2:])


def _by_module(mutants: Sequence[dict[str, str]]) -> Iterator[tuple[str, list[dict[str, str]]]]:
    for place in TESTS:
        if chosen := [each for each in mutants if each["path"] == place or each["path"].startswith(f"{place}/")]:
            yield place, chosen


def _outcomes(tests: Sequence[str], mutants: Sequence[dict[str, str]]) -> list[str]:
    """This process imports nothing of malipo: what a fork has imported is gone with it."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        plugin = _Mutants(mutants)
        try:
            pytest.main([*_QUIET, *tests], plugins=[plugin])
            os.write(writing, json.dumps(plugin.outcomes).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        outcomes: list[str] = json.loads(pipe.read() or "[]")
    os.waitpid(pid, 0)
    assert len(outcomes) == len(mutants), "the tests pass without a mutant"
    again = [each for each, outcome in enumerate(outcomes) if outcome == "not run"]
    if again and (left := _outcome_of(partial(_run_afresh, tests, None))) != "survived":
        raise RuntimeError(f"the tests fail without a mutant: {left}")
    for each in again:
        outcomes[each] = _outcome_of(partial(_run_afresh, tests, mutants[each]))
    return outcomes


def main() -> int:
    mutants = [json.loads(line) for line in Path(sys.argv[1]).read_text().splitlines()]
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    import_all_but_malipo()
    for place, chosen in _by_module(mutants):
        outcomes = _outcomes([f"tests/{each}" for each in TESTS[place]], chosen)
        for mutant, outcome in zip(chosen, outcomes, strict=True):
            counts[mutant["path"]][outcome] += 1
            if outcome != "killed":
                print(f"{outcome}: {mutant['path']} {mutant['operator']}\n{changes(mutant)}", flush=True)
        for path in sorted({each["path"] for each in chosen}):
            print(f"· {path}: {dict(counts[path])}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
