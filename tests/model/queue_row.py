"""The row of the queue, as the database keeps it: what is to be done next, when, and the times that are counted from."""

from msgspec.structs import replace

from malipo.payments.dispatch import Decision, Dispatch, NextAction

LEASE_SECONDS = 65.0


class Row:
    """`dispatch` is None when nothing is left to do."""

    def __init__(self, due_at: float) -> None:
        self.dispatch: Dispatch | None = Dispatch()
        self.due_at = due_at
        self.queued_at = 0.0
        self._sent_at: float | None = None
        self._success_at: float | None = None

    @property
    def is_shown(self) -> bool:
        return self.dispatch is not None and self.dispatch.review_reason is not None

    def claim(self, now: float) -> None:
        """A worker sends it. If it dies, the row is due again when the lease is over."""
        assert self.dispatch is not None
        self.dispatch = replace(
            self.dispatch, connector="model", next_action=NextAction.SENDING, send_count=self.dispatch.send_count + 1
        )
        self.due_at, self._sent_at = now + LEASE_SECONDS, now

    def lease(self, now: float) -> None:
        self.due_at = now + LEASE_SECONDS

    def read(self, now: float) -> Dispatch | None:
        """Times are counted by the database's clock."""
        if self.dispatch is None:
            return None
        sent = None if self._sent_at is None else now - self._sent_at
        success = None if self._success_at is None else now - self._success_at
        return replace(
            self.dispatch, sent_seconds_ago=sent, queued_seconds_ago=now - self.queued_at, success_seconds_ago=success
        )

    def keep(self, decision: Decision, now: float, *, was_queued: bool) -> None:
        """As the two statements of the store do it: a row is updated, or another takes its place after the end."""
        said = decision.dispatch
        if said is None:
            self.dispatch = None
        elif was_queued:
            assert self.dispatch is not None
            self.dispatch = replace(said, is_follow_up=self.dispatch.is_follow_up)
            if not said.is_success_reported or said.success_seconds_ago == 0:
                self._success_at = now if said.is_success_reported else None
            if self._sent_at is None and said.send_count > 0:
                self._sent_at = now
            if decision.wait_seconds is not None:
                self.due_at = now + decision.wait_seconds
        else:
            self.follow_up(said, now, decision.wait_seconds or 0)

    def follow_up(self, said: Dispatch, now: float, seconds: float) -> None:
        self.dispatch = Dispatch(
            connector=said.connector,
            next_action=NextAction.QUERY,
            query_count=said.query_count,
            is_hinted=said.is_hinted,
            is_success_reported=said.is_success_reported,
            is_follow_up=True,
            review_reason=said.review_reason,
        )
        self.due_at, self.queued_at, self._sent_at = now + seconds, now, None
        self._success_at = None if said.success_seconds_ago is None else now - said.success_seconds_ago

    def resolve(self) -> None:
        """Operators have decided, so that nothing is left for them to look at."""
        if self.dispatch is not None:
            self.dispatch = replace(self.dispatch, review_reason=None, is_success_reported=False)
            self._success_at = None
