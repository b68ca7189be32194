"""Many processes use one key: each counts for itself, and together they admit exactly as many requests as the limit."""

import asyncio
import ipaddress

from malipo import clock
from malipo.db import Database
from malipo.merchants.api_keys import hash_of
from malipo.merchants.check_api_key import AccessRequest, Authenticate, Caller
from malipo.rate_limit.refusal import RateLimited
from malipo.rate_limit.sliding_window import RateClass
from tests.conftest import Merchant

_HERE = ipaddress.ip_address("127.0.0.1")


async def test_a_crowd_of_processes_at_one_key_lets_in_exactly_the_limit(database_url: str, merchant: Merchant) -> None:
    admit = Authenticate(limits=dict.fromkeys(RateClass, 100), clock=clock.now)
    request = AccessRequest(hash_of(merchant.key.encode()), _HERE, RateClass.OTHER)
    together = asyncio.Barrier(8)

    async def process() -> list[object]:
        answers: list[object] = []
        async with Database.opened(database_url, size=1) as database, database.read() as connection:
            await together.wait()
            for _ in range(20):
                answers += await admit(connection, [request], again=False)
        return answers

    answers = [answer for each in await asyncio.gather(*(process() for _ in range(8))) for answer in each]

    assert len(answers) == 160
    let_in = [answer for answer in answers if isinstance(answer, Caller)]
    assert len(let_in) == 100
    # Nobody was told the same place as another.
    assert {answer.rate_limit_status.remaining for answer in let_in if answer.rate_limit_status} == set(range(100))
    assert sum(isinstance(answer, RateLimited) for answer in answers) == 60
