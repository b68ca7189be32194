"""What a request has committed is read for its answer: no read says that nothing was done, or shows the state of before."""

import pytest

from malipo.api.shown_after_commit import read_after_commit, require_changed
from malipo.errors import Missing, OutcomeUnknown, Unavailable


async def read(found: str | Exception) -> str:
    if isinstance(found, Exception):
        raise found
    return found


async def test_what_is_there_is_shown() -> None:
    assert await read_after_commit(read("the batch")) == "the batch"
    require_changed(True)


@pytest.mark.parametrize("error", [Unavailable(), Missing("There is no such batch.")], ids=["away", "not there"])
async def test_a_database_that_is_away_or_has_lost_the_commit_leaves_the_outcome_unknown(error: Exception) -> None:
    with pytest.raises(OutcomeUnknown):
        await read_after_commit(read(error))


def test_the_state_of_before_leaves_the_outcome_unknown() -> None:
    with pytest.raises(OutcomeUnknown):
        require_changed(False)
