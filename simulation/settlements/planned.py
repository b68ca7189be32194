"""Which settlements a seed makes merchants ask for, what their bank does, and what operators do then. Pure.

It is drawn apart, so that payments, links and faults are what they were without settlements. Half of the seeds have
none.
"""

import random

import msgspec

_HAS_ANY = 0.5
_MERCHANTS = 2
_HOW_MANY = (1, 2, 2, 3, 4)
_ASK_SECONDS = 7.0
_LEAST, _MOST = 2_000, 60_000
_DAYS = 12  # on which operators work after the run: two weekends are among them
_LAST_RESTORE = 5  # so that the days after it are enough to compare what was lost
# What the bank does with transfers to an account, by how often.
_BEHAVIOURS = {"": 5, "refused": 1, "returned": 2}
_FORMATS = ("camt053", "mt940", "csv")


class PlannedSettlement(msgspec.Struct, frozen=True):
    """What a merchant wants, however often it is asked for."""

    number: int
    merchant: int
    amount: int | None  # None: all that there is, less what is to stay
    at: float  # in the run; of a later day: in which order
    day: int  # 0: in the run; else on a day after it
    is_raced: bool  # asked for twice at once, of two API processes
    cancelled_after: float | None

    @property
    def key(self) -> str:
        return f"settle-{self.number}"


class PlannedAccount(msgspec.Struct, frozen=True):
    """What the bank of a merchant does with money."""

    merchant: int
    behaviour: str  # see _BEHAVIOURS
    returned_after: int  # days


class PlannedBank(msgspec.Struct, frozen=True):
    """Our bank."""

    is_table: bool  # it takes tables, and not pain.001
    books_one_sum: bool
    lists_parts: bool  # of a sum, in a statement
    charge_cents: int
    loses_file: int | None  # the how manieth file that is handed in is taken, and never booked
    refuses_file: int | None


class PlannedDays(msgspec.Struct, frozen=True):
    """What operators do."""

    count: int
    handed_in_twice: tuple[int, ...]  # the how manieth files are handed in twice by mistake
    is_handed_in_late: bool  # what is approved on a day is handed in on the next
    restore_on: int | None  # the database is put back on this day
    backup_on: int | None  # to a backup of this morning
    restore_before_statement: bool
    restore_noticed_late: bool  # merchants and operators act before a worker has noticed it
    asked_again_late: bool  # merchants ask again for what was lost once the bank's statements were compared
    cancelled_after_restore: tuple[int, ...]  # requests that their merchants cancel then, again and again
    formats: tuple[str, ...]  # in which they export statements, by turns
    account_on: int | None  # a merchant adds another account on this day, which is used some days later
    withdrawn_on: int | None  # the last statement is withdrawn by two, and imported again


class PlannedSettlements(msgspec.Struct, frozen=True):
    requests: tuple[PlannedSettlement, ...]
    accounts: tuple[PlannedAccount, ...]
    scheduled: tuple[int, ...]  # merchants whose balance is settled each day
    bank: PlannedBank
    days: PlannedDays


def draw(seed: int) -> PlannedSettlements | None:
    chance = random.Random(f"settlements {seed}")
    if chance.random() >= _HAS_ANY:
        return None
    days = msgspec.structs.replace(
        _days(chance, random.Random(f"after a restore of settlements {seed}")),
        is_handed_in_late=random.Random(f"files that are handed in late {seed}").random() < 0.4,
    )
    requests = [_request(chance, number, days.count) for number in range(chance.choice(_HOW_MANY))]
    if days.restore_on is not None:  # It loses something.
        requests[0] = msgspec.structs.replace(requests[0], day=days.restore_on, cancelled_after=None)
    return PlannedSettlements(
        requests=tuple(requests),
        accounts=tuple(_account(chance, merchant) for merchant in range(_MERCHANTS)),
        scheduled=tuple(each for each in range(_MERCHANTS) if chance.random() < 0.3),
        bank=_bank(chance),
        days=days,
    )


def _request(chance: random.Random, number: int, days: int) -> PlannedSettlement:
    in_run = chance.random() < 0.7
    return PlannedSettlement(
        number=number,
        merchant=chance.randrange(_MERCHANTS),
        amount=None if chance.random() < 0.1 else chance.randrange(_LEAST, _MOST),
        at=round(chance.uniform(0.5, _ASK_SECONDS), 3),
        day=0 if in_run else chance.randrange(1, days - 4),
        is_raced=chance.random() < 0.25,
        cancelled_after=round(chance.uniform(0, 6), 2) if chance.random() < 0.2 else None,
    )


def _account(chance: random.Random, merchant: int) -> PlannedAccount:
    behaviour = chance.choices(list(_BEHAVIOURS), list(_BEHAVIOURS.values()))[0]
    return PlannedAccount(merchant, behaviour, chance.choice((1, 2, 3)))


def _bank(chance: random.Random) -> PlannedBank:
    return PlannedBank(
        is_table=chance.random() < 0.3,
        books_one_sum=chance.random() < 0.4,
        lists_parts=chance.random() < 0.5,
        charge_cents=chance.choice((0, 0, 118_000, 59_050)),
        loses_file=chance.choice((None, None, 0, 1)),
        refuses_file=chance.choice((None, None, None, 0, 1)),
    )


def _days(chance: random.Random, afterwards: random.Random) -> PlannedDays:
    handed_in_twice = tuple(each for each in range(4) if chance.random() < 0.15)
    restore_on = chance.randrange(1, _LAST_RESTORE) if chance.random() < 0.4 else None
    return PlannedDays(
        count=_DAYS,
        handed_in_twice=handed_in_twice,
        is_handed_in_late=False,
        restore_on=restore_on,
        backup_on=None if restore_on is None else max(1, restore_on - afterwards.choice((0, 0, 1, 2))),
        restore_before_statement=chance.random() < 0.7,
        restore_noticed_late=afterwards.random() < 0.5,
        cancelled_after_restore=tuple(each for each in range(max(_HOW_MANY)) if afterwards.random() < 0.2),
        asked_again_late=afterwards.random() < 0.4,
        formats=tuple(chance.sample(_FORMATS, len(_FORMATS))),
        account_on=chance.randrange(1, 5) if chance.random() < 0.3 else None,
        withdrawn_on=chance.randrange(2, _DAYS) if chance.random() < 0.3 else None,
    )
