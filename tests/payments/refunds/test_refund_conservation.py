"""No order of refunds, ends, cancellations and late reports gives back more than was collected, or loses a shilling.

The model beside the service is written from the specification, with its own arithmetic.
"""

from dataclasses import dataclass, field

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from malipo.errors import Refusal
from malipo.networks.connector import Verdict
from malipo.payments.cancel import Cancellation
from malipo.payments.transaction import Transaction
from tests.conftest import Merchant, make_merchant
from tests.journeys import database_facts
from tests.journeys.money.test_conservation import World
from tests.journeys.money.test_conservation import world as world
from tests.payments.refunds.refund_steps import RefundSteps

COLLECTED = 5000
WALLET = 100_000

Act = tuple[str, int | None]
ASK = st.tuples(st.just("ask"), st.sampled_from([None, 500, 1000, 2400, 4500, 4600, 5000, 5001]))
CLAIM = st.just(("claim", None))
END = st.tuples(st.sampled_from(["confirm", "refuse", "cancel"]), st.none())
LATE = st.tuples(st.just("contradict"), st.integers(0, 5))
TAKE_BACK = st.just(("take back", None))
PAID_OUT = st.just([("claim", None), ("confirm", None)])
REFUSED = st.just([("claim", None), ("refuse", None)])
PLANS = st.lists(
    st.one_of(
        st.tuples(ASK).map(list), st.tuples(CLAIM).map(list), st.tuples(END).map(list), st.tuples(LATE).map(list),
        st.tuples(TAKE_BACK).map(list), PAID_OUT, REFUSED, st.tuples(ASK, CLAIM, END).map(list),
    ),
    min_size=2,
    max_size=12,
).map(lambda parts: [act for part in parts for act in part])  # fmt: skip


@dataclass
class Expected:
    """One refund as it must be."""

    amount: int
    status: str = "PENDING"
    is_paid: bool = False
    was_told: bool = False
    transaction: Transaction | None = None

    @property
    def is_open(self) -> bool:
        return self.status in ("PENDING", "PROCESSING")


@dataclass
class Model:
    refunds: list[Expected] = field(default_factory=list)
    is_taken_back: bool = False

    @property
    def paid(self) -> int:
        return sum(each.amount for each in self.refunds if each.is_paid)

    def ask(self, amount: int | None) -> int | str:
        left = COLLECTED - self.paid
        if self.is_taken_back:
            return "not_refundable"
        if any(each.is_open for each in self.refunds):
            return "refund_in_progress"
        if left < 500:
            return "already_refunded"
        wanted = left if amount is None else amount
        if wanted > left:
            return "amount_too_large"
        return wanted if left - wanted == 0 or left - wanted >= 500 else "refund_leaves_too_little"

    def claim(self) -> None:
        for each in self.refunds:
            if each.status == "PENDING":
                may_go = not self.is_taken_back and self.paid + each.amount <= COLLECTED
                each.status = "PROCESSING" if may_go else "CANCELLED"

    @property
    def wallet(self) -> int:
        """What was taken out and not given back. A late report moves nothing in the wallet by itself."""
        taken = sum(each.amount for each in self.refunds if each.status not in ("FAILED", "CANCELLED"))
        return WALLET + COLLECTED - taken


class Run:
    def __init__(self, world: World, merchant: Merchant) -> None:
        self.steps = RefundSteps(world.service, merchant.id)
        self.model = Model()

    async def carry_out(self, plan: list[Act]) -> None:
        self.collection = await self.steps.collected(COLLECTED)
        for name, value in plan:
            match name:
                case "ask":
                    await self._ask(value)
                case "claim":
                    self.model.claim()
                    await self.steps.claim()
                case "contradict":
                    await self._contradict(value or 0)
                case "take back":
                    self.model.is_taken_back = not self.model.is_taken_back
                    await self.steps.contradict(self.collection, is_paid=not self.model.is_taken_back)
                case _:
                    await self._end(name)
            await self._compare()

    async def _ask(self, amount: int | None) -> None:
        made: int | str
        try:
            refund = await self.steps.refund(self.collection, amount)
        except Refusal as refusal:
            made = refusal.code
        else:
            made = refund.amount
        assert made == self.model.ask(amount)
        if isinstance(made, int):
            self.model.refunds.append(Expected(made, transaction=refund))

    async def _end(self, how: str) -> None:
        for each in self.model.refunds:
            if each.transaction is None or not each.is_open:
                continue
            if how == "cancel":
                try:
                    await self.steps.service.payments.cancel(Cancellation(self.steps.merchant_id, each.transaction.id))
                except Refusal:
                    assert each.status == "PROCESSING"
                else:
                    assert each.status == "PENDING"
                    each.status = "CANCELLED"
            elif each.status == "PROCESSING":
                is_paid = how == "confirm"
                await self.steps.report(each.transaction, Verdict.CONFIRMED if is_paid else Verdict.REFUSED)
                each.status, each.is_paid = ("COMPLETED", True) if is_paid else ("FAILED", False)
                each.was_told |= is_paid

    async def _contradict(self, nth: int) -> None:
        """The network reports the opposite of what it last said about a refund that it has ended."""
        ended = [each for each in self.model.refunds if each.status in ("COMPLETED", "FAILED")]
        if ended:
            each = ended[nth % len(ended)]
            assert each.transaction is not None
            each.is_paid = not each.is_paid
            each.was_told |= each.is_paid
            await self.steps.contradict(each.transaction, is_paid=each.is_paid)

    async def _compare(self) -> None:
        seen = (await self.steps.seen(self.collection)).refunds
        assert [(each.status, each.is_paid) for each in seen] == [
            (each.status, each.is_paid) for each in self.model.refunds
        ]
        available, in_flight = await database_facts.wallet(self.steps.database, self.steps.merchant_id)
        assert available == self.model.wallet
        assert in_flight == sum(each.amount for each in self.model.refunds if each.is_open)
        reported = [event for event, _ in await self.steps.events(self.collection)].count("payment.refunded")
        assert reported == sum(each.was_told for each in self.model.refunds)
        owed = await self.steps.value("SELECT owed FROM wallets WHERE merchant_id = $1", self.steps.merchant_id)
        paid_after_all = sum(each.amount for each in self.model.refunds if each.is_paid and each.status == "FAILED")
        assert owed == paid_after_all + (COLLECTED if self.model.is_taken_back else 0)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(plan=PLANS)
def test_refunds_in_every_order_give_back_what_was_collected_and_no_more(world: World, plan: list[Act]) -> None:
    merchant = world.run(make_merchant(world.database, wallet=WALLET))
    world.run(Run(world, merchant).carry_out(plan))
