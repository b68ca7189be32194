"""Creates links."""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from malipo.audit_log import store as audit_log
from malipo.db import Contention, Tx
from malipo.errors import Refusal
from malipo.links.link import Link
from malipo.links.link_code import code_of
from malipo.links.link_request import LinkRequest
from malipo.links.store import links
from malipo.payments.idempotency import refusal_of
from malipo.restore.installation import IntakeClosed
from malipo.restore.store import installation


class MadeLink(msgspec.Struct, frozen=True):
    link: Link
    is_replay: bool = False


async def create_links(
    tx: Tx, requests: Sequence[LinkRequest], /, *, again: bool
) -> list[MadeLink | Refusal | IntakeClosed]:
    return [await _make(tx, request) for request in requests]


async def _make(tx: Tx, request: LinkRequest) -> MadeLink | Refusal | IntakeClosed:
    if (found := await _find_made(tx, request)) is not None:
        return found
    state = await installation.get(tx)
    if state.is_fenced:
        return state.refusal  # Customers would get its address, and a second restore would lose it.
    if request.draft is None:
        assert request.problem is not None
        return request.problem
    link = replace(request.draft, code=code_of(state.key_secret, request.merchant_id, request.key))
    if not await links.insert(tx, link, key=request.key, request_hash=request.request_hash):
        # Another commit has used the key meanwhile, or an earlier try of ours was still committing.
        if (found := await _find_made(tx, request)) is not None:
            return found
        raise Contention("a link with this key existed, and does not any more")
    if request.actor is not None:
        await audit_log.append(
            tx,
            request.actor,
            "link.created",
            now=link.created_at,
            merchant_id=link.merchant_id,
            link=link.id,
            amount=link.amount,
        )
    return MadeLink(link)


async def _find_made(tx: Tx, request: LinkRequest) -> MadeLink | Refusal | None:
    """The link of this key; or the link of this id, which an earlier try wrote whose commit was not confirmed to us."""
    if request.draft is not None and (ours := await links.get(tx, request.merchant_id, request.draft.id)) is not None:
        return MadeLink(ours)
    if request.key is None or (used := await links.find_by_key(tx, request.merchant_id, request.key)) is None:
        return None
    return refusal_of(request.request_hash, used.request_hash) or MadeLink(used.link, is_replay=True)
