"""Makes the mutants of modules with cosmic-ray, and prints each as a line of JSON: `tests.faults.mutants` runs them.

It runs in any Python that has cosmic-ray 8, which is none of our dependencies:

    python3 -m venv /tmp/mutants && /tmp/mutants/bin/pip install cosmic-ray==8.7.0
    /tmp/mutants/bin/python tests/faults/make_mutants.py malipo/payments/fees.py … > mutants.jsonl
"""

import json
import re
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from cosmic_ray.mutating import mutate_code  # type: ignore[import-not-found]
from cosmic_ray.plugins import get_operator, operator_names  # type: ignore[import-not-found]

# One opposite of each operator is enough, and types in annotations are no code.
_OPERATORS = re.compile(
    r"core/(NumberReplacer|AddNot|ReplaceAndWithOr|ReplaceOrWithAnd|ReplaceTrueWithFalse|ReplaceFalseWithTrue"
    r"|ReplaceComparisonOperator_(Is_IsNot|IsNot_Is|Eq_NotEq|NotEq_Eq|In_NotIn|NotIn_In|Lt_LtE|LtE_Lt|Gt_GtE|GtE_Gt)"
    r"|ReplaceBinaryOperator_(Add_Sub|Sub_Add|Mul_Add|FloorDiv_Mul|BitAnd_BitOr)"
    r"|ReplaceUnaryOperator_(Delete_Not|USub_UAdd|Delete_USub)"
    r"|ReplaceContinueWithBreak|ReplaceBreakWithContinue|ZeroIterationForLoop)"
)


def mutants(path: Path) -> Iterator[dict[str, str]]:
    source = path.read_text()
    for name in operator_names():
        if not _OPERATORS.fullmatch(name) or get_operator(name).arguments():
            continue
        operator = get_operator(name)()
        for occurrence in count():
            changed = mutate_code(source, operator, occurrence)
            if changed is None:
                break
            yield {"path": str(path), "operator": name.removeprefix("core/"), "source": changed}


if __name__ == "__main__":
    for each in sys.argv[1:]:
        for mutant in mutants(Path(each)):
            print(json.dumps(mutant))
