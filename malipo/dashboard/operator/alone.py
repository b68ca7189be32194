"""Where only one operator exists, the pages let them approve alone what they have proposed, if the table of acts says
that it may be. The audit log keeps it."""

from malipo.approvals.acts import ACTS, Act
from malipo.dashboard.forms import Form


def is_alone(form: Form) -> bool:
    """The act is refused if there is another operator, or if it always takes two."""
    return form.text("alone") == "yes"


def may_be_alone(act: Act, *, operators: int) -> bool:
    """Whether the form offers it."""
    return operators == 1 and ACTS[act].may_be_alone
