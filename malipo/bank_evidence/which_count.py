"""Which statements of our bank accounts count: for the code, and as conditions of SQL. Pure."""

from enum import StrEnum


class StatementState(StrEnum):
    WAITING = "waiting"  # for a second operator: nothing of it counts yet
    TAKEN = "taken"
    REJECTED = "rejected"
    WITHDRAWN = "withdrawn"

    @property
    def counts(self) -> bool:
        return self in _COUNT


# Its lines are matched, and it covers its days.
_COUNT = (StatementState.TAKEN,)
# Perhaps soon: what one of these shows as paid is not sent and not given back, and no other may contradict it.
_MAY_COUNT = (StatementState.WAITING, *_COUNT)


def _is_one_of(states: tuple[StatementState, ...]) -> str:
    return f"f.state IN ({', '.join(repr(each.value) for each in states)})"


# Conditions of SQL, where `f` is the row of `bank_statements`.
COUNTS = _is_one_of(_COUNT)
MAY_COUNT = _is_one_of(_MAY_COUNT)
