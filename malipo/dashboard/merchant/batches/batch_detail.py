"""The page of one batch: its progress, maker and approver, its lines with their outcomes, and the file of results."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from starlette.responses import Response, StreamingResponse

from malipo.accounts import four_eyes
from malipo.accounts.store.credential_resets import CredentialReset
from malipo.dashboard import render
from malipo.dashboard.merchant.batches.retry_failed_items import new_draft_id
from malipo.dashboard.merchant.batches.upload import PATH
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.dashboard.security_headers import SECURITY_HEADERS
from malipo.dashboard.urls import id_in, number_in
from malipo.db import Conn
from malipo.ledger.store import wallets
from malipo.ledger.wallet import Wallet
from malipo.merchants.four_eyes import find_not_paying, find_open
from malipo.merchants.people import Person
from malipo.merchants.roles import Right
from malipo.merchants.store import approval_rules, people
from malipo.merchants.store.approval_rules import ApprovalRules
from malipo.payments.batches import batch_json, progress
from malipo.payments.batches.approvers import ApproverRules
from malipo.payments.batches.batch import Batch, BatchItem, BatchLine, BatchStatus, NoSuchBatch
from malipo.payments.batches.retry_failed_items import find_attempt, find_failed
from malipo.payments.batches.store import payouts
from malipo.payments.transaction import Status
from malipo.table_files.csv_export import PhoneCell

PER_PAGE = 50
_ENDED_BADLY = (Status.FAILED, Status.CANCELLED)


@dataclass(frozen=True, slots=True)
class BatchData:
    batch: Batch
    counts: Mapping[Status, int]
    lines: Sequence[BatchLine]
    line_count: int  # of the filter
    rules: ApprovalRules
    people: Sequence[Person]
    wallet: Wallet
    resets: Sequence[CredentialReset] = ()  # of people, that nobody has vouched for
    failed: Sequence[BatchItem] = ()  # payouts that can be paid again
    again: Batch | None = None  # the batch that was made of them
    not_paying: Collection[str] = ()  # people who approve nothing, because an operator may have their account

    @property
    def approvers(self) -> list[Person]:
        """The people who may approve the batch."""
        return [each for each in self._allowed if self.may_be_approved_by(each)]

    @property
    def _allowed(self) -> list[Person]:
        """The people who have the right to approve, and can log in."""
        return [each for each in self.people if each.may(Right.APPROVE) and each.password_hash]

    @property
    def later_approvers(self) -> list[tuple[Person, datetime]]:
        """The people who may approve the batch later, and from when; the earliest first."""
        until = {each.account: each.reset_at + four_eyes.COOLING_TIME for each in self.resets}
        later = [(each, until[each.email]) for each in self._allowed if each.email in until]
        return sorted(((each, at) for each, at in later if each.email != self.batch.maker), key=lambda pair: pair[1])

    def may_be_approved_by(self, person: Person) -> bool:
        """As far as two people are needed. The use case decides."""
        rules = ApproverRules(self.rules.takes_two, self.resets, self.not_paying)
        return rules.may_approve(person.email, self.batch.maker)

    @property
    def is_maker_waiting(self) -> bool:
        """Whether the batch cannot be approved yet, because its maker does not count as a second person until somebody
        vouches for them."""
        return self.batch.maker in four_eyes.waiting(self.resets) and (self.rules.takes_two or not self.approvers)

    def warnings_of(self, index: int) -> list[tuple[str, str]]:
        return [(each.code, each.other) for each in self.batch.warnings if each.index == index]


async def show(request: MerchantRequest) -> Response:
    return await page_of(request)


async def page_of(request: MerchantRequest, *, problem: str | None = None, code: int = 200) -> Response:
    status, page = _status(request), number_in(request, "page", 1)
    found = await request.parts.queries.read_snapshot(lambda connection: look(connection, request, status, page))
    counts = found.counts
    return render.page(
        request,
        "merchant/batches/detail.html",
        status=code,
        batch=found.batch,
        found=found,
        counts=counts,
        completed=counts.get(Status.COMPLETED, 0),
        failed=sum(counts.get(each, 0) for each in _ENDED_BADLY),
        chosen=status,
        filters=[(each, counts[each]) for each in Status if counts.get(each)],
        may_approve=request.may(Right.APPROVE) and found.may_be_approved_by(request.person),
        may_cancel=request.may(Right.OPERATE) and _can_be_cancelled(found),
        newer=_link(found.batch, status, page - 1) if page > 1 else None,
        older=_link(found.batch, status, page + 1) if page * PER_PAGE < found.line_count else None,
        draft_id=new_draft_id(request),
        problem=problem,
    )


async def look(connection: Conn, request: MerchantRequest, status: Status | None, page: int) -> BatchData:
    progressed = await progress.find(connection, request.merchant_id, id_in(request))
    if progressed is None:
        raise NoSuchBatch
    batch, counts = progressed.batch, progressed.counts
    indexes = await _indexes(connection, batch, status)
    wallet, _ = await wallets.get(connection, batch.merchant_id)
    now = request.parts.clock()
    return BatchData(
        batch,
        counts,
        await _lines(connection, batch, indexes[(page - 1) * PER_PAGE : page * PER_PAGE]),
        len(indexes),
        await approval_rules.get(connection, batch.merchant_id, now=now),
        await people.find_all(connection, batch.merchant_id),
        wallet,
        await find_open(connection, batch.merchant_id, now=now),
        [each.item for each in await find_failed(connection, batch.merchant_id, batch.id)]
        if counts.get(Status.FAILED)
        else [],
        (await find_attempt(connection, batch.merchant_id, batch.id)).made,
        await find_not_paying(connection, batch.merchant_id, now=now),
    )


async def _indexes(connection: Conn, batch: Batch, status: Status | None) -> Sequence[int]:
    """The indexes of the lines that the filter shows, on all pages together."""
    if status is None or batch.first_payout_id is None:
        return range(batch.item_count)
    return await payouts.find_indexes(connection, batch, status)


async def _lines(connection: Conn, batch: Batch, indexes: Sequence[int]) -> list[BatchLine]:
    if not indexes:
        return []
    first, limit = indexes[0], indexes[-1] - indexes[0] + 1
    wanted = set(indexes)
    found = await progress.find_lines(connection, batch, first=first, limit=limit)
    return [line for line in found if line.item.index in wanted]


async def download(request: MerchantRequest) -> Response:
    """The lines of the batch with their outcomes, as CSV."""
    found = await request.parts.queries.read_snapshot(
        lambda connection: progress.find(connection, request.merchant_id, id_in(request))
    )
    if found is None:
        raise NoSuchBatch
    pieces = progress.stream(request.parts.queries.read_part, found.batch)
    headers = SECURITY_HEADERS | {"Content-Disposition": f'attachment; filename="{found.batch.id}.csv"'}
    return StreamingResponse(_csv(pieces), media_type="text/csv; charset=utf-8", headers=headers)


async def _csv(pieces: AsyncIterator[list[BatchLine]]) -> AsyncIterator[str]:
    is_first = True
    async for piece in pieces:
        yield batch_json.csv_of(piece, is_first=is_first, phone=PhoneCell)
        is_first = False


def _can_be_cancelled(found: BatchData) -> bool:
    if found.batch.status is BatchStatus.RUNNING:
        return found.counts.get(Status.PENDING, 0) > 0
    return found.batch.status is BatchStatus.AWAITING_APPROVAL


def _status(request: MerchantRequest) -> Status | None:
    text = request.http.query_params.get("status", "")
    return Status(text) if text in Status.__members__.values() else None


def _link(batch: Batch, status: Status | None, page: int) -> str:
    query = ({} if status is None else {"status": status.value}) | {"page": str(page)}
    return f"{PATH}/{batch.id}?{urlencode(query)}"
