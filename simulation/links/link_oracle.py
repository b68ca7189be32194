"""What must be true of payment links at the end of a run, as docs/links.md and docs/pay-pages.md say it.

A link of one use is paid at most once, unless another number was tried by somebody who knew that both may pay, or an
attempt had FAILED and its network paid it later, or a restore had lost a paid attempt and operators entered it again
after another number was asked: then the second is late, and told. Money that was taken back leaves its place free.
What the link says of itself is what its payments say, and what is told of it is told once.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from math import inf

from malipo_simulator.behaviour import PaymentKind
from simulation.database import SimulatedDatabase
from simulation.links import link_rows
from simulation.links.customers import Customers
from simulation.links.link_rows import AttemptRow, LinkEventRow, LinkRow
from simulation.links.merchant_links import LinkReplies, MerchantLinks
from simulation.links.planned import PlannedLink
from simulation.networks_book import Book
from simulation.plan import Plan
from simulation.postgres_gate import EPOCH
from simulation.template import SimulatedMerchant

_PRESS_SECONDS = 0.2  # from the look at a link's end, under its lock, to the moment that its attempt has

# What pay pages may ask of a number: docs/pay-pages.md. No run lasts an hour.
_MOST_UNANSWERED, _MOST_UNPAID = 3, 5
_UNANSWERED = ("expired", "not_received")
_REACHED_NO_PHONE = ("invalid_recipient", "channel_unavailable")
_OPEN = ("PENDING", "PROCESSING")
_INTERNAL_ERROR = 500
# Phones that are charged after they were told FAILED: see docs/simulator.md. They may press again before that.
_PAID_AFTER_ALL = ("110", "111")

Find = Callable[..., None]


@dataclass(frozen=True)
class OneLink:
    """A planned link, and all that there is of it."""

    planned: PlannedLink
    told: LinkReplies
    row: LinkRow
    attempts: list[AttemptRow]
    events: list[LinkEventRow]


class LinkOracle:
    def __init__(
        self,
        plan: Plan,
        accounts: list[SimulatedMerchant],
        merchants: MerchantLinks,
        customers: Customers,
        database: SimulatedDatabase,
        book: Book,
        mistaken: Collection[str],
    ) -> None:
        """`mistaken`: the payments that operators have called what they were not."""
        self._plan = plan
        self._accounts = accounts
        self._merchants = merchants
        self._customers = customers
        self._database = database
        self._book = book
        self._mistaken = mistaken
        # Of a time that no process of the service writes.
        clocks = [fault.seconds for fault in plan.faults if fault.kind == "clock"]
        self._has_one_clock = not clocks
        self._most_ahead = max((0.0, *clocks))

    def check(
        self,
        *,
        is_in_lost_time: Callable[[float], bool],
        is_kept: Callable[[float, float], bool],
        find: Find,
    ) -> None:
        """`is_kept`: whether no restore can have lost what was asked for and told then."""
        self._is_in_lost_time, self._is_kept, self._find = is_in_lost_time, is_kept, find
        rows = {each.id: each for each in link_rows.find_links(self._database)}
        attempts = link_rows.find_attempts(self._database)
        events = link_rows.find_events(self._database)
        for link in self._plan.links:
            told = self._merchants.told[link.number]
            self._check_told(link, told, rows)
            for id_ in [each for each in dict.fromkeys(told.ids) if each in rows]:
                one = OneLink(
                    link,
                    told,
                    rows[id_],
                    [each for each in attempts if each.link_id == id_],
                    [each for each in events if each.link_id == id_],
                )
                self._check_link(one)
        self._check_presses({each.id for each in attempts})
        self._check_numbers(attempts)
        self._check_pages({each.id: each for each in attempts})
        self._check_feed(events)
        for trouble in self._customers.troubles:
            self._find("broke", trouble)

    def _check_told(self, link: PlannedLink, told: LinkReplies, rows: Collection[str]) -> None:
        for id_, at in zip(told.ids, told.acknowledged_at, strict=True):
            if id_ not in rows and not self._is_in_lost_time(at):
                self._find("lost", f"{link.key} was acknowledged as {id_}, which is not there")
        if len(set(told.codes)) > 1:
            self._find("link", f"{link.key} has several addresses: {sorted(set(told.codes))}")
        kept = {id_ for id_, at in zip(told.ids, told.acknowledged_at, strict=True) if not self._is_in_lost_time(at)}
        if len(kept) > 1:
            self._find("doubled", f"{link.key} was answered with {sorted(kept)}")
        for trouble in told.troubles:
            self._find("broke", f"{link.key}: {trouble}")

    def _check_link(self, one: OneLink) -> None:
        self._check_once(one)
        self._check_pressed(one)
        self._check_closed(one)
        self._check_counts(one)
        self._check_events(one)

    # No more is paid than may be.

    def _check_once(self, one: OneLink) -> None:
        completed = [each for each in one.attempts if each.status == "COMPLETED"]
        of_phones = Counter(each.phone for each in completed)
        for phone, times in of_phones.items():
            most = len(self._wishes(one, phone)) if one.planned.is_reusable else 1
            if times > most:
                ids = [each.id for each in completed if each.phone == phone]
                self._find("paid-twice", f"{one.planned.key}: {phone} paid {times} times: {ids}", ids[0])
        if one.planned.places is not None and not one.planned.is_reusable:
            warned = {each.phone for each in self._customers.presses if self._is_warned(one, each.phone)}
            most = 1 + len(warned) + len(not_counted_yet(completed))
            if len(completed) > most:
                what = f"{one.planned.key} is paid once, and {[each.id for each in completed]} are COMPLETED"
                self._find("paid-twice", what, completed[0].id)
        elif one.planned.places is not None and len(completed) > one.planned.places:
            what = f"{one.planned.key} is paid {one.planned.places} times, and {len(completed)} are COMPLETED"
            self._find("paid-twice", what, completed[0].id)
        if self._has_one_clock:
            self._check_open_at_once(one)

    def _wishes(self, one: OneLink, phone: str) -> set[str]:
        """Pages that were pressed with this number: each is one wish, however often it was pressed."""
        presses = list(self._customers.presses)
        if any(fault.kind == "customer-request-twice" for fault in self._plan.faults):
            presses += self._customers.refused_presses
        return {each.press_id for each in presses if (each.link, each.phone) == (one.planned.number, phone)}

    def _check_pressed(self, one: OneLink) -> None:
        """Nobody is asked who has not pressed: looking at a page has no effect."""
        for phone in sorted({each.phone for each in one.attempts}):
            made = [each.id for each in one.attempts if each.phone == phone and not each.is_adopted]
            if len(made) > len(self._wishes(one, phone)):
                self._find("doubled", f"{one.planned.key}: {phone} pressed less often than {made}", made[-1])

    def _is_warned(self, one: OneLink, phone: str) -> bool:
        """Whether this number was tried by somebody who knew that another may have paid."""
        number = one.planned.number
        return any((each.link, each.phone, each.is_warned) == (number, phone, True) for each in self._customers.presses)

    def _check_open_at_once(self, one: OneLink) -> None:
        """A number is asked once at a time, and a link of one use asks one number, but for who was warned."""
        for place, earlier in enumerate(one.attempts):
            for later in one.attempts[place + 1 :]:
                first, second = sorted((earlier, later), key=lambda each: each.created_at)
                is_over = first.ended_at is not None and first.ended_at <= second.created_at
                is_same = first.phone == second.phone
                # An attempt that operators have entered again asked its phone before the restore.
                may_be = one.planned.is_reusable or second.is_adopted or self._is_warned(one, second.phone)
                if not is_over and (is_same or not may_be):
                    what = f"{one.planned.key}: {first.id} of {first.phone} was open when {second.id} of {second.phone}"
                    self._find("doubled", f"{what} was made", second.id)

    def _check_closed(self, one: OneLink) -> None:
        """No attempt begins once the link has expired, or its merchant was told that it is cancelled."""
        if not self._has_one_clock:
            return
        ends = [told for asked, told in one.told.cancelled if self._is_kept(asked, told)]
        if one.row.expires_at is not None:
            ends.append(one.row.expires_at + _PRESS_SECONDS)
        for each in one.attempts:
            # An attempt that operators have entered again after a restore was pressed before it.
            if ends and not each.is_adopted and each.created_at > min(ends) + 0.001:
                what = f"{one.planned.key} was closed at {min(ends):.3f}, and {each.id} was made at"
                self._find("cancelled", f"{what} {each.created_at:.3f}", each.id)

    # What the link says of itself.

    def _check_counts(self, one: OneLink) -> None:
        paid = [each for each in one.attempts if each.is_paid]
        late, in_time = [each for each in paid if each.late], [each for each in paid if not each.late]
        places = one.planned.places
        if places is not None and len(in_time) > places:
            self._find("link", f"{one.planned.key} counts {len(in_time)} payments, and takes {places}")
        for each in paid:
            if not is_lateness_right(one, each, most_ahead=self._most_ahead):
                self._find("link", f"{one.planned.key}: {each.id} is late because of {each.late}", each.id)
        view = one.told.seen.get(one.row.id)
        if view is None:
            self._find("lost", f"{one.planned.key} cannot be read")
            return
        expected = {
            "status": status_of(one, len(in_time), view["status"]),
            "paidCount": len(in_time),
            "paidAmount": sum(each.amount for each in in_time),
            "latePayments": sorted((each.id, each.late, each.amount) for each in late),
        }
        shown = {name: view[name] for name in ("status", "paidCount", "paidAmount")}
        shown["latePayments"] = sorted(
            (each["id"], each["reason"], each["amount"]) for each in view.get("latePayments", ())
        )
        if shown != expected:
            self._find("link", f"{one.planned.key} {one.row.id} says {shown}; its payments say {expected}")

    # What is told of it.

    def _check_events(self, one: OneLink) -> None:
        paid = [each for each in one.events if each.event == "link.paid"]
        if len(paid) != one.row.has_been_paid:
            self._find("link", f"{one.planned.key}: link.paid is told {len(paid)} times")
        for event in paid:
            if (status := event.body["link"]["status"]) != "PAID":
                self._find("link", f"{one.planned.key}: link.paid says {status}", event.payment_id)
        late = sorted(each.id for each in one.attempts if each.late)
        told_late = sorted(each.payment_id for each in one.events if each.event == "link.late")
        if told_late != late:
            self._find("link", f"{one.planned.key}: late are {late}, and told are {told_late}")
        for event in one.events:
            if event.body["link"]["payment"] != event.payment_id or event.body["event"] != event.event:
                self._find("link", f"{one.planned.key}: {event.id} is about another payment", event.payment_id)

    def _check_feed(self, events: Iterable[LinkEventRow]) -> None:
        of_merchants: defaultdict[str, list[str]] = defaultdict(list)
        for each in events:
            of_merchants[each.merchant_id].append(each.id)
        for number, read in self._merchants.events_read.items():
            there = of_merchants[self._accounts[number].id]
            if read != there:
                self._find("feed", f"merchant {number} read {len(read)} events of links, and there are {len(there)}")

    # What customers were told.

    def _check_presses(self, ids: Collection[str]) -> None:
        for each in self._customers.presses:
            if each.attempt is not None and each.attempt not in ids and not self._is_in_lost_time(each.told_at):
                self._find("lost", f"{each.phone} was led to {each.attempt}, which is not there", each.attempt)

    def _check_pages(self, attempts: dict[str, AttemptRow]) -> None:
        for seen in self._customers.seen:
            row = attempts.get(seen.attempt)
            if seen.scene == "paid" and not self._is_in_lost_time(seen.at) and not (row and row.was_ever_paid):
                self._find("page", f"{seen.phone} was told that {seen.attempt} is paid", seen.attempt)
        for seen in self._customers.last_seen:
            expected = scenes_of(attempts.get(seen.attempt))
            if seen.scene not in expected:
                self._find(
                    "page", f"{seen.phone} is shown {seen.scene!r} of {seen.attempt}, not {expected}", seen.attempt
                )

    # How often phones were asked.

    def _check_numbers(self, attempts: Sequence[AttemptRow]) -> None:
        for phone in sorted({each.phone for each in attempts} | self._phones()):
            of_phone = [each for each in attempts if each.phone == phone]
            unanswered = [each.id for each in of_phone if is_unanswered(each)]
            unpaid = [each.id for each in of_phone if is_unpaid(each)]
            if len(unanswered) > _MOST_UNANSWERED or len(unpaid) > _MOST_UNPAID:
                what = f"{phone} was asked {len(unpaid)} times without being paid, {len(unanswered)} without an answer"
                self._find("pestered", what, of_phone[0].id)
            self._check_book(phone)
            self._check_charged_once(phone, of_phone)

    def _phones(self) -> set[str]:
        return {
            phone for link in self._plan.links for each in link.customers for phone in (each.phone, each.other_phone)
        }

    def _check_book(self, phone: str) -> None:
        """What the networks know: how often they asked the phone, and that each request was charged once."""
        asked = [each for each in self._book.transactions if (each.phone, each.kind) == (phone, PaymentKind.COLLECTION)]
        charged = Counter(
            each.reference for each in self._book.movements if (each.phone, each.kind) == (phone, "charged")
        )
        lost = sum(self._is_in_lost_time(each.taken_at - EPOCH.timestamp()) for each in asked)
        unpaid = [each.reference for each in asked if not charged[each.reference]]
        if len(unpaid) > _MOST_UNPAID + lost:
            self._find("pestered", f"{phone} was asked by its network {len(unpaid)} times without being paid")
        for reference, times in charged.items():
            if times > 1 + self._may_be_sent_again(phone, lost):
                self._find("paid-twice", f"{phone} was charged {times} times under {reference}")

    def _check_charged_once(self, phone: str, attempts: Sequence[AttemptRow]) -> None:
        """Who presses at one link that is paid once is charged under one key, also if a restore has lost the attempt
        and they press again. A second attempt that is charged is late, and told."""
        links = [each for each in self._plan.links for who in each.customers if who.phone == phone]
        others = [who.elsewhere for each in links for who in each.customers if who.phone == phone]
        if len(links) != 1 or links[0].is_reusable or others != [None] or phone[-3:] in _PAID_AFTER_ALL:
            return
        charged: Counter[str] = Counter()
        for each in self._book.movements:
            # What is taken back of a charge, the subscriber sees as paid.
            if each.phone == phone and (each.kind == "charged") != each.is_reversal:
                charged[each.reference] += -1 if each.is_reversal else 1
        keys = sorted(reference for reference, times in charged.items() if times > 0)
        # Operators who were mistaken have called a paid attempt FAILED, and its customer pressed again.
        if len(keys) > 1 + sum(each.late is not None or each.id in self._mistaken for each in attempts):
            self._find("paid-twice", f"{phone} was charged at {links[0].key} under {keys}")

    def is_charged_again(self, phone: str, key: str) -> bool:
        """Whether a customer was charged twice for one attempt, which is excused."""
        if phone not in self._phones():
            return False
        charges = [each for each in self._book.movements if each.kind == "charged" and each.reference.endswith(key)]
        return len(charges) > 1 and self._may_be_sent_again(phone, len(charges))

    def _may_be_sent_again(self, phone: str, lost: int) -> bool:
        """An attempt that a restore has lost, at a network that takes a key again: its customer approves it again."""
        channels = {each.channel for each in self._book.transactions if each.phone == phone}
        return lost > 0 and any(
            fault.kind == "network-pays-again" and fault.target in channels for fault in self._plan.faults
        )


def not_counted_yet(attempts: Sequence[AttemptRow]) -> list[AttemptRow]:
    """Attempts that their link did not count when another number was asked: operators entered them again only later,
    after a restore, or had taken their money back before. Where both are paid, one is late, and told."""
    return [
        one
        for one in attempts
        if any(
            not other.is_adopted
            and other.phone != one.phone
            and (
                (one.is_adopted and other.created_at < one.created_at)
                or (not one.is_paid and one.reported_at is not None and one.reported_at <= other.created_at)
            )
            for other in attempts
        )
    ]


def is_unanswered(attempt: AttemptRow) -> bool:
    return attempt.status in _OPEN or (attempt.status == "FAILED" and attempt.failure_code in _UNANSWERED)


def is_unpaid(attempt: AttemptRow) -> bool:
    is_failed = attempt.status == "FAILED" and attempt.failure_code not in _REACHED_NO_PHONE
    return is_failed or attempt.status in _OPEN


def is_lateness_right(one: OneLink, attempt: AttemptRow, *, most_ahead: float = 0.0) -> bool:
    """By when the money was known to have come. Which of several attempts came first, nobody else can tell.

    `most_ahead` is how far a host's clock is ahead: a payment that it has ended may have come so much sooner."""
    assert attempt.paid_at is not None
    is_cancelled = one.row.cancelled_at is not None and attempt.paid_at > one.row.cancelled_at
    is_expired = one.row.expires_at is not None and attempt.paid_at > one.row.expires_at
    ends = [each for each in (one.row.cancelled_at, one.row.expires_at) if each is not None]
    # Operators may decide about a contradiction after the link has ended. Its money came when it was reported.
    came_in_time = attempt.first_known_at is not None and attempt.first_known_at <= min(ends, default=inf)
    places = one.planned.places
    others = sum(each.was_ever_paid for each in one.attempts if each is not attempt)
    match attempt.late:
        case None:
            return came_in_time or all(attempt.paid_at - most_ahead <= each for each in ends)
        case "cancelled":
            return is_cancelled
        case "expired":
            return is_expired
        case _:
            return places is not None and others >= places


def status_of(one: OneLink, in_time: int, shown: str) -> str:
    places = one.planned.places
    if one.row.has_been_paid or (places is not None and in_time >= places):
        return "PAID"
    if one.row.cancelled_at is not None:
        return "CANCELLED"
    if one.row.expires_at is None:
        return "ACTIVE"
    return shown if shown in ("ACTIVE", "EXPIRED") else "EXPIRED"  # It may expire while it is read.


def scenes_of(attempt: AttemptRow | None) -> tuple[str, ...]:
    """What a page may show of a payment, by the ledger and the status."""
    if attempt is None:  # A restore has lost it.
        return ("form", "closed")
    if attempt.status == "PENDING":
        return ("waiting",)
    if attempt.status == "PROCESSING":
        return ("asked", "in_doubt")
    if attempt.is_paid:
        return ("paid",)
    return ("taken_back",) if attempt.status == "COMPLETED" else ("not_paid",)
