"""Releases after a restore: what operators propose, and which channels were released."""

from datetime import datetime

import msgspec

from malipo.approvals import store as proposals
from malipo.approvals.acts import Act
from malipo.approvals.store import Proposal
from malipo.db import Conn, Tx


class ReleaseTerms(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be released; without a channel, the installation."""

    epoch: int
    channel: str | None = None
    type: str | None = None

    @property
    def subject(self) -> str:
        return " ".join(str(each) for each in (self.epoch, self.channel, self.type) if each is not None)


class ProposedRelease(ReleaseTerms, frozen=True, kw_only=True):
    id: str
    evidence: str
    requested_by: str
    requested_at: datetime


async def find_release(tx: Tx, epoch: int, channel: str | None, type_: str | None) -> Proposal | None:
    """What is proposed, and not decided yet; held until the commit."""
    subject = ReleaseTerms(epoch=epoch, channel=channel, type=type_).subject
    return next(iter(await proposals.lock_open(tx, [Act.RELEASE], subject)), None)


async def find_proposed_releases(connection: Conn, epoch: int) -> list[ProposedRelease]:
    """All that is proposed in an epoch, and not decided yet."""
    found = [proposed_release(each) for each in await proposals.find_open(connection, [Act.RELEASE])]
    return [each for each in found if each.epoch == epoch]


def proposed_release(proposal: Proposal) -> ProposedRelease:
    return ProposedRelease(
        id=proposal.id,
        evidence=proposal.reason,
        requested_by=proposal.requested_by,
        requested_at=proposal.requested_at,
        **msgspec.structs.asdict(proposal.terms_as(ReleaseTerms)),
    )


async def release_channel(tx: Tx, epoch: int, channel: str, type_: str) -> None:
    await tx.execute(
        "INSERT INTO channel_releases (epoch, channel, type) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
        epoch,
        channel,
        type_,
    )


async def find_released_channels(connection: Conn, epoch: int) -> set[tuple[str, str]]:
    rows = await connection.fetch("SELECT channel, type FROM channel_releases WHERE epoch = $1", epoch)
    return {(row["channel"], row["type"]) for row in rows}
