"""The id of an operator's session at the command line."""

import hashlib


def command_line_session(secret: str) -> str:
    """It is a hash: a reader of the database, or of a backup, has no session.

    A page takes no such id, because a browser's cookie is signed; and the id in a cookie is no secret of these.
    """
    return f"opc_{hashlib.sha256(secret.encode()).hexdigest()}"
