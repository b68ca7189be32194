"""The scene of a pay page, by the status of the link and of the payment that this browser has begun. Pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from malipo.links.link import LinkStatus
from malipo.links.store.customers_attempts import CustomersAttempt
from malipo.payments.transaction import Status


class Scene(StrEnum):
    FORM = "form"  # amount, phone and network
    WAITING = "waiting"  # the payment was not sent to its network yet, or did not reach it
    ASKED = "asked"  # the phone asks for the PIN
    IN_DOUBT = "in_doubt"  # the time for the PIN is over, and the network has not reported the outcome
    PAID = "paid"
    TAKEN_BACK = "taken_back"  # it was paid, and the network has reversed its report
    NOT_PAID = "not_paid"
    UNFOLLOWED = "unfollowed"  # this browser has pressed, and keeps no cookies: how it ends cannot be shown here
    CLOSED = "closed"  # the link cannot be paid, and this browser has begun no payment


_BY_STATUS = {
    Status.PENDING: Scene.WAITING,
    Status.PROCESSING: Scene.ASKED,
    Status.COMPLETED: Scene.PAID,
    Status.FAILED: Scene.NOT_PAID,
    Status.CANCELLED: Scene.NOT_PAID,
}
_LIVE = (Scene.WAITING, Scene.ASKED, Scene.IN_DOUBT)


@dataclass(frozen=True, slots=True)
class Shown:
    scene: Scene
    has_form: bool  # whether the customer can press, for the first time or again
    is_warned: bool  # a press needs a second number, and a warning that both may pay

    @property
    def is_live(self) -> bool:
        """Whether the page updates automatically."""
        return self.scene in _LIVE


def shown(
    link: LinkStatus | None,
    attempt: CustomersAttempt | None,
    *,
    now: datetime,
    prompt_seconds: int,
    wants_again: bool = False,
    has_lost_cookie: bool = False,
) -> Shown:
    """`link`: None if its merchant takes no payments. `wants_again`: the customer has asked for the form of a link that
    can be paid once more. `has_lost_cookie`: this browser has just pressed, and its payment cannot be known."""
    is_open = link is LinkStatus.ACTIVE
    if attempt is None and has_lost_cookie and link is not LinkStatus.PAID:
        return Shown(Scene.UNFOLLOWED, has_form=False, is_warned=False)
    if attempt is None or (wants_again and is_open and attempt.payment.status.is_final):
        return Shown(Scene.FORM if is_open else Scene.CLOSED, is_open, is_warned=False)
    scene = scene_of(attempt, now=now, prompt_seconds=prompt_seconds)
    return Shown(scene, is_open and scene in (Scene.NOT_PAID, Scene.IN_DOUBT), is_warned=scene is Scene.IN_DOUBT)


def scene_of(attempt: CustomersAttempt, *, now: datetime, prompt_seconds: int) -> Scene:
    """The scene of a payment. A report after its end counts more than the status, which stays."""
    scene = _BY_STATUS[attempt.status]
    if attempt.payment.status.is_final and attempt.is_reported_paid is not None:
        if attempt.is_reported_paid:
            return Scene.PAID
        return Scene.TAKEN_BACK if scene is Scene.PAID else scene
    if scene is Scene.ASKED and now >= prompt_ends(attempt, prompt_seconds):
        return Scene.IN_DOUBT
    return scene


def prompt_ends(attempt: CustomersAttempt, prompt_seconds: int) -> datetime:
    return attempt.prompted_at + timedelta(seconds=prompt_seconds)
