"""Checking a closed day with other software than malipo: what was signed, the signature, and the public key, as files.

Keep a copy of the public key elsewhere: a person who can change the closes here could change the key here too.
"""

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from malipo.db import Conn
from malipo.errors import Code, Missing
from malipo.reconciliation.close.closed_day import ClosedDay
from malipo.reconciliation.close.signature import message_of
from malipo.reconciliation.close.store import signing_keys


class KeyRefusal(Code):
    NO_SUCH = "close_key_unknown"


def pem_of(public_key: bytes) -> str:
    key = Ed25519PublicKey.from_public_bytes(public_key)
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def line_of(public_key: bytes) -> str:
    """The public key on one line, for paper: the text between the first and the last line of the file."""
    return "".join(pem_of(public_key).splitlines()[1:-1])


def names_of(closed: ClosedDay) -> tuple[str, str, str]:
    """The names of the files: the signed content, the signature, the public key."""
    return f"close-{closed.day}.signed", f"close-{closed.day}.sig", f"{closed.key_id}.pem"


def files_of(closed: ClosedDay, public_key: bytes) -> dict[str, bytes]:
    contents = (message_of(closed), closed.signature, pem_of(public_key).encode())
    return dict(zip(names_of(closed), contents, strict=True))


def command_of(closed: ClosedDay) -> str:
    """The command of OpenSSL 3 that checks them, in the folder with the three files."""
    signed, signature, key = names_of(closed)
    return f"openssl pkeyutl -verify -pubin -inkey {key} -rawin -in {signed} -sigfile {signature}"


async def find_public_key(connection: Conn, key_id: str) -> bytes:
    keys = await signing_keys.find_public(connection)
    if key_id not in keys:
        raise Missing(code=KeyRefusal.NO_SUCH, name=key_id)
    return keys[key_id]
