"""Airtel Money's newer wire: the second version of disbursements, and messages that must be signed."""

import base64
import os
import secrets
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from tests.simulator.airtel import Airtel, Answer
from tests.simulator.processes import Listener, Sim, until

PHONE = "+255684123456"
V2 = "/standard/v2/disbursements/"
COLLECTION_FORBIDDEN, DISBURSEMENT_FORBIDDEN = "DP00800001026", "DP00900001016"


def second(airtel: Airtel, phone: str = PHONE, id_: str | None = None, **changes: Any) -> dict[str, Any]:
    """A disbursement's body, with `payee__name="Asha"` for what is further down, and None for what is left out."""
    body: dict[str, Any] = {
        "payee": {"currency": "TZS", "msisdn": phone.removeprefix("+255"), "name": "Asha Juma"},
        "reference": "MSHAHARA5",
        "pin": airtel.seal(airtel.given["pin"]),
        "transaction": {"amount": 1000, "id": id_ or secrets.token_hex(16), "type": "B2C"},
    }
    for path, value in changes.items():
        *parents, name = path.split("__")
        part = body[parents[0]] if parents else body
        part[name] = value
        if value is None:
            del part[name]
    return body


def aes(body: bytes, key: bytes, iv: bytes) -> str:
    missing = 16 - len(body) % 16
    cipher = Cipher(algorithms.AES(key), modes.CBC(iv)).encryptor()
    return base64.b64encode(cipher.update(body + bytes([missing]) * missing) + cipher.finalize()).decode()


def text(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def signature(airtel: Airtel, body: bytes, *, is_oaep: bool = False) -> dict[str, str]:
    key, iv = os.urandom(32), os.urandom(16)
    return {"x-key": airtel.seal(f"{text(key)}:{text(iv)}", is_oaep=is_oaep), "x-signature": aes(body, key, iv)}


async def send(airtel: Airtel, path: str, body: Any, headers: dict[str, str] | None = None) -> Answer:
    """Signed, unless other headers are given."""
    raw = msgspec.json.encode(body)
    return await airtel.call("POST", path, raw=raw, headers=signature(airtel, raw) if headers is None else headers)


async def nothing_moved(sim: Sim) -> bool:
    prompts, book = await sim("GET", "/api/prompts"), await sim("GET", "/api/book")
    return (prompts, book["movements"]) == ([], [])


@pytest.mark.parametrize("name", [None, ""])
async def test_the_second_version_needs_no_name(airtel: Airtel, sim: Sim, name: str | None) -> None:
    assert (await airtel.call("POST", V2, body=second(airtel, payee__name=name))).letters == "TS"
    assert await sim.charged(PHONE) == [("paid", 1000)]


@pytest.fixture
async def strict(airtel: Airtel, sim: Sim) -> Airtel:
    """The network with a merchant whose every message must be signed."""
    await sim.control(channels={"AIRTEL_MONEY": {"signing": "required"}})
    return airtel


@pytest.mark.parametrize("type_", ["B2C", "B2B"])
async def test_the_second_version_answers_as_the_first(airtel: Airtel, sim: Sim, type_: str) -> None:
    first = await airtel.disburse(PHONE, 1000, "salary1")
    answer = await airtel.call("POST", V2, body=second(airtel, id_="salary2", transaction__type=type_))
    transaction = answer.body["data"]["transaction"]
    assert (answer.status, answer.code, transaction["id"], answer.letters) == (200, "DP00900001001", "salary2", "TS")
    assert set(transaction) == set(first.body["data"]["transaction"])
    assert set(answer.body["status"]) == set(first.body["status"])
    assert await sim.charged(PHONE) == [("paid", 1000)] * 2


async def test_the_last_stroke_of_the_address_may_be_left_out(airtel: Airtel) -> None:
    assert (await airtel.call("POST", V2.rstrip("/"), body=second(airtel))).letters == "TS"


BAD: list[tuple[str, Any, str]] = [
    ("payee", None, "ESB000035"),
    ("payee__currency", None, "ESB000035"),
    ("payee__currency", "KES", "ESB000035"),
    ("payee__msisdn", None, "ROUTER003"),
    ("payee__msisdn", "0684123456", "DP00900001012"),
    ("payee__msisdn", "68412345x", "DP00900001012"),
    ("payee__name", "  ", "ESB000008"),
    ("payee__name", 5, "ESB000008"),
    ("reference", None, "ROUTER003"),
    ("reference", "", "ROUTER003"),
    ("reference", "a" * 65, "ESB000008"),
    ("reference", "pay/5", "ESB000008"),
    ("reference", "mshahara wa mei", "ESB000008"),
    ("pin", None, "ROUTER003"),
    ("pin", "1234", "ROUTER116"),
    ("transaction", None, "ROUTER003"),
    ("transaction__amount", None, "ROUTER003"),
    ("transaction__amount", "1000", "ESB000008"),
    ("transaction__amount", 10.5, "ESB000008"),
    ("transaction__id", None, "ROUTER003"),
    ("transaction__id", "a b", "ESB000008"),
    ("transaction__type", None, "ROUTER003"),
    ("transaction__type", "", "ROUTER003"),
    ("transaction__type", "b2c", "ESB000008"),
    ("transaction__type", ["B2C"], "ESB000008"),
]


async def test_every_field_of_the_second_version_is_checked(airtel: Airtel, sim: Sim) -> None:
    observed = []
    for path, value, _ in BAD:
        answer = await airtel.call("POST", V2, body=second(airtel, **{path: value}))
        observed.append((path, value, answer.code))
        assert (answer.status, answer.body["status"]["code"], "data" in answer.body) == (400, "400", False)
    assert observed == BAD
    assert await nothing_moved(sim)


async def test_an_id_is_used_once_whatever_the_version(airtel: Airtel, sim: Sim) -> None:
    await airtel.disburse(PHONE, 1000, "salary3")
    again = await airtel.call("POST", V2, body=second(airtel, id_="salary3"))
    assert (again.status, again.code) == (400, "DP00900001017")
    assert await sim.charged(PHONE) == [("paid", 1000)]


@pytest.mark.parametrize(("ending", "letters"), [("456", "TS"), ("101", "TF"), ("102", "TF"), ("109", "TIP")])
async def test_both_versions_of_the_enquiry_say_the_same(airtel: Airtel, ending: str, letters: str) -> None:
    await airtel.call("POST", V2, body=second(airtel, f"+255684123{ending}", "salary4"))
    answer = await airtel.call("GET", V2 + "salary4?transactionType=B2C")
    assert (answer.status, answer.letters) == (200, letters)
    assert answer == await airtel.ask("disbursement", "salary4")


async def test_both_versions_of_the_enquiry_do_not_find_the_same(airtel: Airtel) -> None:
    answer = await airtel.call("GET", V2 + "nothing?transactionType=B2C")
    assert (answer.status, answer.code) == (200, "DP00900001015")
    assert answer == await airtel.ask("disbursement", "nothing")


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("", "ROUTER003"),
        ("?transactionType=", "ROUTER003"),
        ("?transactiontype=B2C", "ROUTER003"),
        ("?transactionType=C2B", "ESB000008"),
    ],
)
async def test_an_enquiry_of_the_second_version_names_the_type(airtel: Airtel, query: str, code: str) -> None:
    await airtel.call("POST", V2, body=second(airtel, id_="salary5"))
    answer = await airtel.call("GET", f"{V2}salary5{query}")
    assert (answer.status, answer.code) == (400, code)


async def test_signing_is_off_until_it_is_required(airtel: Airtel, sim: Sim) -> None:
    async def shown() -> tuple[str, str]:
        portal, control = await sim("GET", "/api/credentials"), await sim("GET", "/api/control")
        return portal["AIRTEL_MONEY"]["signing"], control["channels"]["AIRTEL_MONEY"]["signing"]

    assert await shown() == ("off", "off")
    await sim.control(channels={"AIRTEL_MONEY": {"signing": "required"}})
    assert await shown() == ("required", "required")
    for bad in ("on", True, None):
        patch = {"channels": {"AIRTEL_MONEY": {"signing": bad}}}
        assert "AIRTEL_MONEY.signing" in (await sim("PATCH", "/api/control", patch, status=None))["error"]
    assert await shown() == ("required", "required")


async def test_while_it_is_off_no_signature_is_looked_at(airtel: Airtel) -> None:
    answer = await send(airtel, V2, second(airtel), {"x-key": "nonsense", "x-signature": "nonsense"})
    assert answer.letters == "TS"


@pytest.mark.parametrize("version", [1, 2])
async def test_a_signed_collection_is_taken(strict: Airtel, sim: Sim, listener: Listener, version: int) -> None:
    answer = await send(strict, f"/merchant/v{version}/payments/", strict.collection(PHONE))
    assert (answer.status, answer.code) == (200, "DP00800001006")
    await until(lambda: bool(listener.calls))
    assert await sim.charged(PHONE) == [("charged", 1000)]


async def test_a_signed_disbursement_is_taken(strict: Airtel, sim: Sim) -> None:
    assert (await send(strict, "/standard/v1/disbursements/", strict.disbursement(PHONE))).letters == "TS"
    assert (await send(strict, V2, second(strict))).letters == "TS"
    assert await sim.charged(PHONE) == [("paid", 1000)] * 2


async def test_a_signature_that_another_program_made_is_taken(strict: Airtel) -> None:
    # printf %s "$body" | openssl enc -aes-256-cbc -K 000102…1f -iv 646566…73 -base64 -A
    body = (
        b'{"reference":"Duka","subscriber":{"country":"TZ","currency":"TZS","msisdn":"684123456"},'
        b'"transaction":{"amount":1500,"country":"TZ","currency":"TZS","id":"vector1"}}'
    )
    made = (
        "K3TIYU+fuvUUrJ+VOp8p8qqwvy3WXGm/jZAaL5ZDWUYrERGMRSIwT/XDz6Ewpx82SIas/mkZV9pD2uXpfVlpKhIIKYyBcM6Rs2aW8r6U8ogM"
        "N4vxPQkAIbGHlrLEc/A2/MLQpyBu1ha/5ODUCzjMC8nT/XhwkU6UDi+lMBClFhI9s1PHE1lNzAcyMfIth0PJuvY+8X0/FFpkvMkT4qJ7hDRo"
        "RcqDwd1ACwcwEXqBG8Y="
    )
    key = strict.seal("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=:ZGVmZ2hpamtsbW5vcHFycw==")
    headers = {"x-key": key, "x-signature": made}
    assert (await strict.call("POST", "/merchant/v1/payments/", raw=body, headers=headers)).status == 200


async def test_a_key_may_be_used_again(strict: Airtel, sim: Sim) -> None:
    key, iv = os.urandom(32), os.urandom(16)
    sealed = strict.seal(f"{text(key)}:{text(iv)}")
    for _ in range(2):
        raw = msgspec.json.encode(second(strict))
        headers = {"x-key": sealed, "x-signature": aes(raw, key, iv)}
        assert (await strict.call("POST", V2, raw=raw, headers=headers)).letters == "TS"
    assert await sim.charged(PHONE) == [("paid", 1000)] * 2


async def test_the_key_is_sealed_as_the_pin_is(strict: Airtel, sim: Sim) -> None:
    raw = msgspec.json.encode(strict.collection(PHONE))
    old, new = signature(strict, raw), signature(strict, raw, is_oaep=True)
    path = "/merchant/v2/payments/"
    assert (await strict.call("POST", path, raw=raw, headers=new)).code == COLLECTION_FORBIDDEN
    await sim.control(channels={"AIRTEL_MONEY": {"pinPadding": "oaep"}})
    assert (await strict.call("POST", path, raw=raw, headers=old)).code == COLLECTION_FORBIDDEN
    assert (await strict.call("POST", path, raw=raw, headers=new)).status == 200


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/merchant/v1/payments/", COLLECTION_FORBIDDEN),
        ("/merchant/v2/payments/", COLLECTION_FORBIDDEN),
        ("/standard/v1/disbursements/", DISBURSEMENT_FORBIDDEN),
        ("/standard/v2/disbursements/", DISBURSEMENT_FORBIDDEN),
        ("/standard/v3/disbursements", DISBURSEMENT_FORBIDDEN),
    ],
)
async def test_what_is_not_signed_is_forbidden_and_not_done(strict: Airtel, sim: Sim, path: str, code: str) -> None:
    kind = "payment" if path.startswith("/merchant") else "disbursement"
    body = strict.collection(PHONE, 1000, "once") if kind == "payment" else second(strict, id_="once")
    body.get("payee", {})["wallet_type"] = "NORMAL"
    answer = await send(strict, path, body, {})
    assert answer.status == 403
    assert answer.body == {
        "status": {
            "code": "403",
            "message": "X-signature and payload did not match",
            "result_code": "ESB000011",
            "response_code": code,
            "success": False,
        }
    }
    assert await nothing_moved(sim)
    assert await strict.status(kind, "once") in ("DP00800001025", "DP00900001015")
    # Not even the id is used up.
    assert (await send(strict, path, body)).status == 200


def wrongly_signed(airtel: Airtel, body: bytes) -> dict[str, dict[str, str]]:
    key, iv = os.urandom(32), os.urandom(16)
    right = {"x-key": airtel.seal(f"{text(key)}:{text(iv)}"), "x-signature": aes(body, key, iv)}
    stranger = rsa.generate_private_key(public_exponent=65537, key_size=2048).public_key()
    elsewhere = text(stranger.encrypt(f"{text(key)}:{text(iv)}".encode(), padding.PKCS1v15()))
    respaced = msgspec.json.format(body, indent=1)

    def sealed(opened: str, made: str = right["x-signature"]) -> dict[str, str]:
        return {"x-key": airtel.seal(opened), "x-signature": made}

    return {
        "no key": {"x-signature": right["x-signature"]},
        "no signature": {"x-key": right["x-key"]},
        "another request's signature": right | {"x-signature": aes(body.replace(b"1000", b"9000"), key, iv)},
        "the same JSON in other bytes": right | {"x-signature": aes(respaced, key, iv)},
        "a signature cut short": right | {"x-signature": right["x-signature"][:-24]},
        "a signature in hexadecimal": right | {"x-signature": base64.b64decode(right["x-signature"]).hex()},
        "a signature that is no base64": right | {"x-signature": "é***"},
        "another key": sealed(f"{text(os.urandom(32))}:{text(iv)}"),
        "another start": sealed(f"{text(key)}:{text(os.urandom(16))}"),
        "a key of 128 bits": sealed(f"{text(key[:16])}:{text(iv)}", aes(body, key[:16], iv)),
        "key and start the other way round": sealed(f"{text(iv)}:{text(key)}"),
        "no colon": sealed(f"{text(key)}{text(iv)}"),
        "no start": sealed(text(key)),
        "not in base64": sealed(f"{key.hex()}:{iv.hex()}"),
        "a key that is not sealed": right | {"x-key": f"{text(key)}:{text(iv)}"},
        "a key sealed for somebody else": right | {"x-key": elsewhere},
        "a key sealed in the other way": right | {"x-key": airtel.seal(f"{text(key)}:{text(iv)}", is_oaep=True)},
        "headers the other way round": {"x-key": right["x-signature"], "x-signature": right["x-key"]},
    }


@pytest.mark.parametrize("kind", ["collection", "disbursement"])
async def test_what_is_wrongly_signed_is_forbidden_and_not_done(strict: Airtel, sim: Sim, kind: str) -> None:
    path = "/merchant/v1/payments/" if kind == "collection" else V2
    raw = msgspec.json.encode(strict.collection(PHONE) if kind == "collection" else second(strict))
    code = COLLECTION_FORBIDDEN if kind == "collection" else DISBURSEMENT_FORBIDDEN
    wrong = wrongly_signed(strict, raw)
    observed = {}
    for name, headers in wrong.items():
        answer = await strict.call("POST", path, raw=raw, headers=headers)
        observed[name] = (answer.status, answer.code)
    assert observed == dict.fromkeys(wrong, (403, code))
    assert await nothing_moved(sim)


async def test_the_signature_is_looked_at_after_the_token_and_before_the_fields(strict: Airtel) -> None:
    body = second(strict, pin="1234")
    assert (await send(strict, V2, body, {"Authorization": "Bearer nonsense"})).status == 401
    assert (await send(strict, V2, body, {"X-Country": "KE"})).code == "ROUTER006"
    assert (await send(strict, V2, body, {})).code == DISBURSEMENT_FORBIDDEN
    assert (await send(strict, V2, body)).code == "ROUTER116"


async def test_what_has_no_body_needs_no_signature(strict: Airtel) -> None:
    assert (await strict.log_in()).status == 200
    assert (await strict.ask("payment", "nothing")).status == 200
    assert (await strict.call("GET", V2 + "nothing?transactionType=B2C")).status == 200
    assert (await strict.call("GET", "/v1/rsa/encryption-keys")).status == 200
    for path in ("/merchant/v1/payments/", V2):
        assert (await strict.call("POST", path, raw=b"")).status == 400


async def test_who_looks_on_sees_that_it_was_signed_and_not_how(strict: Airtel, sim: Sim) -> None:
    await send(strict, V2, second(strict))
    headers = (await sim("GET", "/api/seen"))[0]["headers"]
    assert (headers["x-key"], headers["x-signature"]) == ("••••", "••••")
