"""What may come to a receiver, and what it must answer: written by hand from the specification, for all receivers.

A change takes a good webhook (body and headers) and gives what is sent in its place. Each changes one thing only, so
that it is that thing which is refused.
"""

import base64
from collections.abc import Callable

from tests.examples.signed_webhooks import NEW, OLD, STRANGE, Headers, by_hand, event, now, plain, rotating, signed

ID, TIME, STANDARD, PLAIN = "webhook-id", "webhook-timestamp", "webhook-signature", "X-Service-Signature"
NEXT = "X-Service-Signature-Next"
Sent = tuple[bytes, Headers]
Change = Callable[[bytes, Headers], Sent]


def with_(name: str, change: Callable[[str], str]) -> Change:
    return lambda body, headers: (body, headers | {name: change(headers[name])})


def without(name: str) -> Change:
    return lambda body, headers: (body, {key: value for key, value in headers.items() if key != name})


def saying(body: bytes) -> Change:
    """Another body, rightly signed."""
    return lambda _, headers: (body, signed(body, event_id=headers[ID]))


def at(seconds: int) -> Change:
    """Rightly signed so many seconds from now."""
    return lambda body, headers: (body, signed(body, event_id=headers[ID], at=now() + seconds))


def strange(body: bytes, headers: Headers, name: str) -> str:
    """What this header would be if it were made with a secret that the receiver does not know."""
    return signed(body, STRANGE, event_id=headers[ID], at=int(headers[TIME]))[name]


def by_a_stranger(name: str) -> Change:
    return lambda body, headers: (body, headers | {name: strange(body, headers, name)})


def beside_a_stranger(form: str) -> Change:
    """Several webhook-signatures, of which `right` is right."""

    def change(body: bytes, headers: Headers) -> Sent:
        other = strange(body, headers, STANDARD)
        return body, headers | {STANDARD: form.format(right=headers[STANDARD], strange=other)}

    return change


def _raw_key_for_plain(body: bytes, headers: Headers) -> Sent:
    return body, headers | {PLAIN: plain(body, base64.b64decode(OLD[6:]))}


def _whole_secret_for_standard(body: bytes, headers: Headers) -> Sent:
    return body, headers | {STANDARD: by_hand(body, OLD.encode(), headers[ID], int(headers[TIME]))}


def _made_younger(body: bytes, headers: Headers) -> Sent:
    return body, signed(body, event_id=headers[ID], at=now() - 360) | {TIME: str(now())}


def _cut(length: int) -> Callable[[str], str]:
    return lambda value: value[:length]


REFUSED: dict[str, tuple[int, Change]] = {
    "another amount": (401, lambda body, headers: (body.replace(b"1000", b"9000"), headers)),
    "a byte more": (401, lambda body, headers: (body + b"\n", headers)),
    "a byte less": (401, lambda body, headers: (body[:-1], headers)),
    "no body": (401, lambda _, headers: (b"", headers)),
    "signed by a stranger": (401, lambda body, headers: (body, signed(body, STRANGE, event_id=headers[ID]))),
    "rotated by strangers": (401, lambda body, _: (body, rotating(body, STRANGE, STRANGE))),
    "webhook-signature by a stranger": (401, by_a_stranger(STANDARD)),
    "X-Service-Signature by a stranger": (401, by_a_stranger(PLAIN)),
    "webhook-signature with the whole secret as key": (401, _whole_secret_for_standard),
    "X-Service-Signature with the decoded key": (401, _raw_key_for_plain),
    "no webhook-id": (400, without(ID)),
    "no webhook-timestamp": (400, without(TIME)),
    "no webhook-signature": (400, without(STANDARD)),
    "no X-Service-Signature": (400, without(PLAIN)),
    "an empty webhook-id": (400, with_(ID, _cut(0))),
    "an empty webhook-signature": (400, with_(STANDARD, _cut(0))),
    "an empty X-Service-Signature": (400, with_(PLAIN, _cut(0))),
    "six minutes old": (401, at(-360)),
    "six minutes early": (401, at(+360)),
    "old, with a new timestamp": (401, _made_younger),
    "a timestamp that is no number": (400, with_(TIME, lambda _: "yesterday")),
    "a timestamp with a fraction": (400, with_(TIME, lambda value: value + ".5")),
    "a negative timestamp": (400, with_(TIME, lambda value: "-" + value)),
    "an endless timestamp": (400, with_(TIME, lambda value: value * 30)),
    "another id": (401, with_(ID, lambda value: value + "1")),
    "upper-case hex": (401, with_(PLAIN, str.upper)),
    "hex with a prefix": (401, with_(PLAIN, lambda value: "sha256=" + value)),
    "half of the hex": (401, with_(PLAIN, _cut(32))),
    "hex without its last digit": (401, with_(PLAIN, _cut(63))),
    "hex in letters beyond ASCII": (401, with_(PLAIN, lambda value: "é" + value[1:])),
    "base64 without its end": (401, with_(STANDARD, _cut(-1))),
    "half of the base64": (401, with_(STANDARD, _cut(25))),
    "only the version": (401, with_(STANDARD, _cut(3))),
    "base64 without the version": (401, with_(STANDARD, lambda value: value[3:])),
    "another version": (401, with_(STANDARD, lambda value: "v2" + value[2:])),
    "base64 in letters beyond ASCII": (401, with_(STANDARD, lambda value: "v1,é" + value[4:])),
    "two signatures of strangers": (401, beside_a_stranger("{strange} {strange}")),
    "a comma between two signatures": (401, beside_a_stranger("{strange},{right}")),
    "no JSON": (400, saying(b"payment.completed")),
    "half a JSON": (400, saying(event(1)[:-1])),
    "a list": (400, saying(b"[1,2]")),
    "a text": (400, saying(b'"payment.completed"')),
    "null": (400, saying(b"null")),
    "no event": (400, saying(b'{"transaction":{}}')),
    "an event that is no text": (400, saying(b'{"event":["payment.completed"],"transaction":{}}')),
    "no transaction": (400, saying(b'{"event":"payment.completed"}')),
    "an empty transaction": (400, saying(b'{"event":"payment.completed","transaction":{}}')),
    "an amount in quotes": (400, saying(event(1, amount="1000"))),
    "an amount with a fraction": (400, saying(event(1, amount=1000.5))),
    "no amount": (400, saying(event(1, amount=None))),
    "no reference": (400, saying(event(1, reference=None))),
    "no status": (400, saying(event(1).replace(b'"status":"COMPLETED"', b'"status":null'))),
    "not UTF-8": (400, saying(event(1).replace("é".encode(), b"\xe9"))),
}


ACCEPTED: dict[str, Change] = {
    "as it was sent": lambda body, headers: (body, headers),
    "four minutes old": at(-240),
    "four minutes early": at(+240),
    "without what nobody signed": lambda body, headers: (
        body,
        {name: headers[name] for name in (ID, TIME, STANDARD, PLAIN)},
    ),
    "names in small letters": lambda body, headers: (body, {name.lower(): value for name, value in headers.items()}),
    "names in capitals": lambda body, headers: (body, {name.upper(): value for name, value in headers.items()}),
    "a stranger's signature first": beside_a_stranger("{strange} {right}"),
    "a stranger's signature last": beside_a_stranger("{right} {strange}"),
    "another version first": beside_a_stranger("v1a,{right} {right}"),
    "garbage first": beside_a_stranger("v1 , v1, {right}"),
    "while the secret is rotated": lambda body, _: (body, rotating(body)),
    "after the rotation": lambda body, _: (body, signed(body, NEW)),
}
