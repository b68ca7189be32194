"""A third operator vouches for what one has set or reset for another. Every page shows what waits for that."""

from starlette.responses import Response

from malipo.dashboard.operator.request import OperatorRequest
from malipo.operators import four_eyes, login

PATH = "/operator/vouch"


async def vouch(request: OperatorRequest) -> Response:
    form = await request.form()
    name, last_seen = login.name_of(form.text("name")), form.text("reset")
    await request.parts.queries.write(
        lambda tx: four_eyes.vouch(tx, name, actor=request.actor, now=request.parts.clock(), last_seen=last_seen)
    )
    return request.go("/operator/account", "vouched-for")
