"""Every code of every room has a sentence, in every language, and gets the values that belong into it."""

import ast
import pkgutil
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from string import Formatter

import malipo
from malipo import typed_reason
from malipo.cli.hints import HINTS, say_with_hint
from malipo.dashboard import form_errors
from malipo.dashboard.language import Translator
from malipo.dashboard.operator import resolve_case
from malipo.errors import Code, Conflict, Missing, Problem, Refusal
from malipo.http.accept_language import Language
from malipo.network_statements.cell_values import CellProblem
from malipo.network_statements.read_statement import ColumnName
from malipo.payments.after_restore.release import ReleaseRefusal
from malipo.payments.cases.resolution import CaseRefusal
from malipo.receipts.manage_log import LogRefusal
from malipo.reconciliation.close.close_day import CloseRefusal
from malipo.reconciliation.exceptions.refusals import ExceptionRefusal, MatchRefusal
from malipo.reconciliation.imports.import_statement import LineProblem
from malipo.reconciliation.imports.refuse_conflicting_file import DoubtRefusal
from malipo.restore.hold import HoldRefusal
from malipo.words.say import SENTENCES, say
from tests.api.published_contract import CONTRACT
from tests.dashboard.catalogues import kept

_ROOMS = Path(malipo.__file__).parent
_DOORS = {"api", "cli", "dashboard", "http_server", "worker", "words"}
# What a network's API sends wrongly is for the log and the terminal. The limit's name is no sentence. Pages submit for
# approval instead of saying that it is required.
_TOLD = {"CannotFetch", "LimitMet", "ApprovalRequired", "NeedsUsualPath"}
_NO_VALUES = {"code", "details", "problems", "limit"}
# Values that another place adds: the name of a column, and what a file has that is in the way.
_ADDED = {CellProblem: {"column"}, DoubtRefusal: {"name", "other", "other_id", "where"}}


def codes() -> list[Code]:
    for module in pkgutil.walk_packages([str(_ROOMS)], "malipo."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    return [code for room in Code.__subclasses__() for code in room]


@cache
def modules() -> list[tuple[Path, list[ast.AST]]]:
    """Calls, classes and texts of every module. To parse all takes three seconds of a processor: it is done once."""
    kept = (ast.Call, ast.ClassDef, ast.Constant)
    paths = sorted(_ROOMS.rglob("*.py"))
    return [
        (each, [node for node in ast.walk(ast.parse(each.read_text())) if isinstance(node, kept)]) for each in paths
    ]


def values_in(sentence: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(sentence) if name}


def calls() -> Iterator[tuple[Code, set[str], str]]:
    """Wherever a code is used with values: the code, the names of the values, and where."""
    rooms = {room.__name__: room for room in Code.__subclasses__()}
    for path, nodes in modules():
        for node in nodes:
            if not isinstance(node, ast.Call) or any(each.arg is None for each in node.keywords):
                continue
            for given in (*node.args, *(each.value for each in node.keywords if each.arg == "code")):
                if isinstance(given, ast.Attribute) and isinstance(given.value, ast.Name) and given.value.id in rooms:
                    named = {str(each.arg) for each in node.keywords} - _NO_VALUES
                    yield rooms[given.value.id][given.attr], named, f"{path.relative_to(_ROOMS)}:{node.lineno}"


def texts_in(nodes: Iterable[ast.AST]) -> set[str]:
    return {each.value for each in nodes if isinstance(each, ast.Constant) and isinstance(each.value, str)}


def refusals(of: type[Refusal] = Refusal) -> Iterator[type[Refusal]]:
    yield of
    for each in of.__subclasses__():
        yield from refusals(each)


def sentences_below_the_doors() -> Iterator[tuple[str, str]]:
    """Each class of refusal that is made with a sentence, there or in its own constructor, and its error code."""
    by_name = {each.__name__: each for each in refusals()}
    for path, nodes in modules():
        if path.relative_to(_ROOMS).parts[0] in _DOORS:
            continue
        for node in nodes:
            if isinstance(node, ast.ClassDef) and node.name in by_name:
                calls = [each for each in ast.walk(node) if isinstance(each, ast.Call)]
                made = [each for each in calls if ast.unparse(each.func) == "super().__init__"]
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in by_name:
                made = [node]
            else:
                continue
            name = node.name if isinstance(node, ast.ClassDef) else ast.unparse(node.func)
            for call in made:
                if any(isinstance(each, ast.Constant | ast.JoinedStr) for each in call.args[:1]):
                    own = [each.value for each in call.keywords if each.arg == "code"]
                    if all(isinstance(each, ast.Constant) for each in own):
                        yield name, next((str(ast.literal_eval(each)) for each in own), by_name[name].code)


def test_every_code_has_a_sentence_and_every_sentence_a_code() -> None:
    assert sorted(codes()) == sorted(SENTENCES)


def test_a_code_is_unique_in_all_rooms() -> None:
    assert [code for code, times in Counter(map(str, codes())).items() if times > 1] == []


def test_a_code_is_neither_one_of_the_api_nor_one_for_which_pages_have_a_sentence_of_their_own() -> None:
    """Else the API would answer with it, or a page would say something else than the terminal."""
    api_codes = {each["const"] for each in CONTRACT["components"]["schemas"]["ErrorCode"]["oneOf"]}
    assert set(codes()) & (api_codes | form_errors.SENTENCES.keys()) == set()


def test_no_sentence_stands_twice() -> None:
    """The names of columns are no sentences; those of `stored_problems.py` are taken from there."""
    sentences = [each for each in SENTENCES.values() if each.endswith((".", "?"))]
    written = Counter(sentences)
    for path, nodes in modules():
        if path.parent.name != "words" and path.name != "stored_problems.py":
            written.update(texts_in(nodes) & set(sentences))
    assert [sentence for sentence, times in written.items() if times > 1] == []


def test_a_refusal_below_the_doors_that_has_a_sentence_has_an_error_code_of_the_contract() -> None:
    codes()
    api_codes = {each["const"] for each in CONTRACT["components"]["schemas"]["ErrorCode"]["oneOf"]}
    reported = [
        (name, code) for name, code in sentences_below_the_doors() if code not in api_codes and name not in _TOLD
    ]
    assert reported == []


def test_every_sentence_is_in_kiswahili() -> None:
    known = kept("malipo.dashboard", Language.KISWAHILI)
    assert [sentence for sentence in SENTENCES.values() if not known.get(sentence)] == []


def test_whoever_uses_a_code_gives_the_values_of_its_sentence() -> None:
    codes()
    found = [
        (code, values_in(SENTENCES[code]) - _ADDED.get(type(code), set()) - named, at) for code, named, at in calls()
    ]
    assert len(found) > 100
    assert [each for each in found if each[1]] == []


def test_no_sentence_names_a_command_or_an_option() -> None:
    assert [sentence for sentence in SENTENCES.values() if re.search(r"--\w|malipo \w+ \w+:|: malipo ", sentence)] == []


def test_the_terminal_has_a_hint_only_where_there_is_a_sentence() -> None:
    assert HINTS.keys() - SENTENCES.keys() == set()
    for code, hint in HINTS.items():
        more = next((values for room, values in _ADDED.items() if code in list(room)), set())
        assert values_in(hint) <= values_in(SENTENCES[code]) | more, code


def test_a_refusal_is_said_in_the_language_of_the_door() -> None:
    refusal = Missing(code=MatchRefusal.NO_PAYMENT, name="PAY-1")
    assert say(refusal) == "There is no payment 'PAY-1'."
    assert say(refusal, Translator(Language.KISWAHILI)) == "Hakuna malipo 'PAY-1'."


def test_the_terminal_adds_the_command_that_helps() -> None:
    refusal = Conflict(code=ExceptionRefusal.RESOLVED, by="operator asha")
    assert say_with_hint(refusal) == "It was resolved by operator asha. That can be undone: malipo exceptions undo"


def test_a_problem_in_a_problem_is_said_in_the_same_language() -> None:
    cell = Problem(CellProblem.NO_AMOUNT, column=Problem(ColumnName.BALANCE), cell="'x'")
    line = Problem(LineProblem.ROW, row="9", why=cell)
    assert say(line) == "Row 9: The balance is 'x', which is not an amount."
    assert say(line, Translator(Language.KISWAHILI)) == "Mstari wa 9: Salio ni 'x', ambacho si kiasi cha pesa."


def test_what_the_api_answers_is_its_own_sentence() -> None:
    assert say(Conflict("Only a COMPLETED payment can be refunded.")) == "Only a COMPLETED payment can be refunded."


def test_the_sentences_about_reasons_and_evidence_name_their_bounds() -> None:
    least, most = typed_reason.REASON
    for code in (HoldRefusal.REASON, CloseRefusal.REASON, LogRefusal.REASON):
        assert f"{least} to {most:,} characters" in SENTENCES[code]
    least, most = typed_reason.EVIDENCE
    for sentence in (
        *(SENTENCES[each] for each in (ExceptionRefusal.REASON, CaseRefusal.EVIDENCE, ReleaseRefusal.EVIDENCE)),
        *resolve_case.SENTENCES[-1:],
    ):
        assert f"{least} to {most:,} characters" in sentence
