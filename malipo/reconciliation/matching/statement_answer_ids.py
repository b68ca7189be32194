"""The ids under which lines of statements are stored as answers of their network. Pure.

An id is made of the line's own number, so that a line that is reported again is stored once. Its prefix says whether
the line was trusted or only a hint, and SQL reads it, because network_answers has no column for that. These ids are in
that table only, and are never shown. (Ids of settlements, in a table of their own, may begin alike.)
"""

LINE = "stl_"  # of a line that was trusted
HINT = "sth_"  # of a line that waits for a second operator


def answer_id(line_id: int, ordinal: int, *, is_second: bool, is_hint: bool) -> str:
    """`ordinal` and `is_second` distinguish the reports of a line that is reported again after its payment changed."""
    return f"{HINT if is_hint else LINE}{line_id}_{ordinal}{'_ended' if is_second else ''}"


def is_of_trusted_line_sql(answer: str) -> str:
    """A condition: whether a stored answer, by the name of its table in the query, is that of a trusted line."""
    return f"starts_with({answer}.id, '{LINE}')"


def is_of_line(answer: str, line_id: str) -> str:
    """A condition: whether a stored answer is that of this trusted line."""
    return f"starts_with({answer}.id, '{LINE}' || {line_id} || '_')"
