"""The list of an operator's sessions, in browsers and at the command line, and how they are ended."""

import re
from html import unescape

from tests.dashboard.operator.operator_pages import OperatorPages
from tests.dashboard.operator.operator_pages import operator_pages as operator_pages
from tests.journeys import operator_sessions
from tests.journeys.operator_commands import malipo

_END = re.compile(r'action="(/operator/account/sessions/opc_[^"]+)"')


async def test_a_session_at_the_command_line_is_ended_from_the_list(
    operator_pages: OperatorPages, database_url: str
) -> None:
    asha = await operator_pages.operator("asha")
    file = operator_sessions.session_of(database_url, asha.name)
    assert (await malipo("operators", "whoami", database_url=database_url, operator_session=file)).code == 0
    [action] = _END.findall(unescape((await asha.surfer.get("/operator/account")).text))
    assert (await asha.surfer.post(action)).status == 303
    said = await malipo("operators", "whoami", database_url=database_url, operator_session=file)
    assert (said.code, said.out.startswith("Nobody is logged in here.")) == (1, True)


async def test_sessions_that_are_not_shown_are_counted_and_end_with_the_others(operator_pages: OperatorPages) -> None:
    asha = await operator_pages.operator("asha")
    async with operator_pages.service.queries.database.begin() as tx:
        await tx.execute(
            "INSERT INTO operator_sessions (id, operator_id, created_at, last_used_at, confirmed_at, expires_at, address)"
            " SELECT 'opc_' || md5(o.name || n), o.id, now() - n * interval '1 second', now(), now(),"
            " now() + interval '1 hour', 'test' FROM operators o, generate_series(1, 52) n WHERE o.name = $1",
            asha.name,
        )
    seen = await asha.surfer.get("/operator/account")
    assert "3 more are not shown." in seen.words
    swahili = await asha.surfer.get("/operator/account", headers={"Accept-Language": "sw"})
    assert "Vingine 3 havionyeshwi." in swahili.words
    assert (await asha.surfer.post("/operator/account/sessions/end")).status == 303
    assert "not shown" not in (await asha.surfer.get("/operator/account")).words
