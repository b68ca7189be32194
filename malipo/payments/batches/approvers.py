"""The approvers of a batch, and the batches that await the approval of one person. Pure: `approve.py` decides."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from malipo.accounts.four_eyes import are_two
from malipo.accounts.store.credential_resets import CredentialReset


@dataclass(frozen=True, slots=True)
class ApproverRules:
    takes_two: bool
    resets: Sequence[CredentialReset] = ()  # of people, that nobody has vouched for
    not_paying: Collection[str] = ()  # people who approve nothing, because an operator may have their account

    def may_approve(self, email: str, maker: str | None) -> bool:
        """Whether this person may approve what the other made. The right to approve is checked apart."""
        if email in self.not_paying:
            return False
        return not self.takes_two or are_two(self.resets, maker, email)


@dataclass(frozen=True, slots=True)
class AwaitingOfMaker:
    """Batches of one person that await approval."""

    maker: str | None
    count: int
    amount: int


@dataclass(frozen=True, slots=True)
class AwaitedApprovals:
    """The batches that await the approval of one person: their number, sum and makers."""

    count: int = 0
    amount: int = 0
    makers: Sequence[str | None] = ()


def awaited_of(email: str, awaiting: Iterable[AwaitingOfMaker], rules: ApproverRules) -> AwaitedApprovals:
    own = [each for each in awaiting if rules.may_approve(email, each.maker)]
    return AwaitedApprovals(
        sum(each.count for each in own), sum(each.amount for each in own), [each.maker for each in own]
    )
