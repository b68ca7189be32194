"""/v1/payments: the exact field sets, statuses and orders of the contract."""

from tests.conftest import COLLECTION, PAYOUT, Client


async def test_a_collection_is_created_pending_with_exactly_the_fields_of_the_contract(api: Client) -> None:
    answer = await api("POST", "/v1/payments", COLLECTION | {"description": "Sukari", "unknown": 1})

    assert answer.status == 201
    assert list(answer.body) == ["success", "transaction"]
    transaction = answer.body["transaction"]
    assert set(transaction) == {
        "id", "reference", "amount", "fee", "netAmount", "channel", "status", "buyerPhone", "buyerName",
        "description", "createdAt",
    }  # fmt: skip
    assert transaction["status"] == "PENDING"
    assert transaction["description"] == "Sukari"
