"""What a merchant has set about approvals."""

import msgspec

from malipo.db import Conn, Tx


class ApprovalRules(msgspec.Struct, frozen=True):
    takes_two: bool  # whoever made a batch may not approve it
    above: (
        int | None
    )  # a person's payout of more than this is made as a batch of one item; None: there is no such amount

    def needs_approval(self, amount: int) -> bool:
        """Whether a payout that a person makes in the dashboard awaits approval."""
        return self.above is not None and amount > self.above


async def get(connection: Conn, merchant_id: str) -> ApprovalRules:
    row = await connection.fetchrow(
        "SELECT takes_two_to_approve, approval_above FROM merchants WHERE id = $1", merchant_id
    )
    assert row is not None, "the merchant was found before"
    return ApprovalRules(*row.values())


async def lock(tx: Tx, merchant_id: str) -> ApprovalRules:
    row = await tx.fetchrow(
        "SELECT takes_two_to_approve, approval_above FROM merchants WHERE id = $1 FOR NO KEY UPDATE", merchant_id
    )
    assert row is not None, "the merchant was found before"
    return ApprovalRules(*row.values())


async def save(tx: Tx, merchant_id: str, rules: ApprovalRules) -> None:
    await tx.execute(
        "UPDATE merchants SET takes_two_to_approve = $2, approval_above = $3 WHERE id = $1",
        merchant_id,
        rules.takes_two,
        rules.above,
    )
