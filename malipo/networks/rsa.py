"""RSA as the networks want it: a public key from their portal, a short secret, base64."""

import base64
import binascii

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_der_public_key

_PADDINGS: dict[str, padding.AsymmetricPadding] = {
    "pkcs1v15": padding.PKCS1v15(),
    "oaep": padding.OAEP(mgf=padding.MGF1(hashes.SHA256()), algorithm=hashes.SHA256(), label=None),
}


def public_key(text: str) -> RSAPublicKey:
    """The key in the base64 text of a portal; ValueError says what is wrong with it."""
    try:
        key = load_der_public_key(base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError, UnsupportedAlgorithm):
        raise ValueError("is not the base64 text of a public key") from None
    if not isinstance(key, RSAPublicKey):
        raise ValueError("is not an RSA key")
    return key


def encrypted(key: RSAPublicKey, secret: str | bytes, *, padding_: str = "pkcs1v15") -> str:
    """The secret, encrypted for the holder of the private key."""
    plain = secret.encode() if isinstance(secret, str) else secret
    return base64.b64encode(key.encrypt(plain, _PADDINGS[padding_])).decode()
