"""What a migration does that processes of the version before cannot live with, by the words of its statements.

It reads SQL as a person who skims: comments and texts are taken out, and each statement is compared with a list. What a
migration does in a function or a DO block is not seen.
"""

import re
from collections.abc import Iterator

# They grow with every payment: an index or a scan of one takes minutes, and all writers wait.
BIG_TABLES = (
    "transactions|moves|events|dispatches|network_answers|idempotency_keys|webhook_deliveries|webhook_attempts|"
    "audit_log|search_index"
)
_NOT_CODE = re.compile(r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|\$(\w*)\$.*?\$\1\$", re.DOTALL)

_BREAKING = {
    r"^DROP (TABLE|VIEW|FUNCTION|TYPE|SCHEMA)\b": "drops what older statements may name",
    r"\bDROP COLUMN\b": "drops a column",
    r"^ALTER TABLE .*\bDROP (?!COLUMN|CONSTRAINT|DEFAULT|NOT NULL|IDENTITY|EXPRESSION)\w+": "drops a column",
    r"\bRENAME\b": "renames something",
    r"\bALTER (COLUMN )?\w+ (SET DATA )?TYPE\b": "changes a type, and writes the table anew",
    r"\bALTER (COLUMN )?\w+ SET NOT NULL\b": "older versions may write null, and every row is read under a lock",
    r"\bALTER (COLUMN )?\w+ DROP DEFAULT\b": "older versions may rely on the default",
    r"\bADD (COLUMN )?(IF NOT EXISTS )?(?!CONSTRAINT|PRIMARY|UNIQUE|CHECK|FOREIGN|EXCLUDE)\w+ (?=[^,;]*\bNOT NULL\b)"
    r"(?![^,;]*\b(DEFAULT|GENERATED)\b)": "older versions do not fill this column",
    rf"^CREATE (UNIQUE )?INDEX (?!IF NOT EXISTS).*\bON (ONLY )?({BIG_TABLES})\b": "all writers wait for this index",
    rf"^ALTER TABLE (IF EXISTS )?(ONLY )?({BIG_TABLES})\b.*\bADD (CONSTRAINT|CHECK|FOREIGN|PRIMARY|UNIQUE|EXCLUDE)\b"
    r"(?!.*\bNOT VALID\b)": "every row is checked while all writers wait; add it NOT VALID",
    r"^(LOCK|TRUNCATE|CLUSTER|REINDEX|VACUUM FULL)\b": "takes a lock for long",
    r"^REVOKE\b": "takes a right that older versions may need",
}


def why_breaking(sql: str) -> list[str]:
    """A sentence for each statement that older processes cannot live with."""
    return [
        f"{reason}: {statement[:80]}"
        for statement in _statements(sql)
        for pattern, reason in _BREAKING.items()
        if re.search(pattern, statement, re.IGNORECASE)
    ]


def _statements(sql: str) -> Iterator[str]:
    made: list[str] = []
    for each in _NOT_CODE.sub(" '' ", sql).split(";"):
        statement = " ".join(each.replace("''", " ").split())
        table = re.match(r"CREATE (?:UNLOGGED )?TABLE (?:IF NOT EXISTS )?(\w+)", statement, re.IGNORECASE)
        if table:
            made.append(table[1])
        # What is made in the same file is empty, and no older statement names it.
        if statement and not any(re.search(rf"\b(ON|TABLE|ONLY) {name}\b", statement, re.IGNORECASE) for name in made):
            yield statement
