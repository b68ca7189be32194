"""Where a day does not add up, in sentences: in shillings, with the command that helps. Pure."""

from malipo import money
from malipo.reconciliation.close.close_figures import ChannelSection, CloseOutcome, sheet_of
from malipo.reconciliation.close.plain_text import MOST_ITEMS, in_words
from malipo.reconciliation.close.signed_content import DayClose, ItemKind, OpenReason


def sentences_of(close: DayClose) -> list[str]:
    """Per channel: which kind of change differs, and the biggest things that nothing explains."""
    sheet = sheet_of(close)
    differing = [each for each in sheet.channels if each.outcome is CloseOutcome.UNEXPLAINED]
    sentences = [sentence for each in differing for sentence in _of_channel(each)]
    if sheet.trial_balance:
        balance = money.display(sheet.trial_balance)
        sentences.append(f"The trial balance is {balance}, not zero. See: malipo ledger check")
    return sentences


def _of_channel(channel: ChannelSection) -> list[str]:
    name = channel.channel
    sentences = [f"{name}: {money.display(channel.unexplained)} between statement and ledger are not explained."]
    changes = [each for each in channel.rows if not channel.is_edge(each)]
    sentences += [
        f"{name}: The sums of '{each.name}' differ by {money.display(each.difference)}."
        for each in changes
        if each.difference
    ]
    unexplained = [each for each in channel.items if each.reason is OpenReason.UNEXPLAINED]
    sentences += [f"{name}: {in_words(each)}." for each in unexplained[:MOST_ITEMS]]
    [count] = [each.count for each in channel.open if each.reason is OpenReason.UNEXPLAINED]
    if (more := count - MOST_ITEMS) > 0:
        sentences.append(f"{name}: and {more:,} more.")
    if any(each.what in (ItemKind.PAYMENT, ItemKind.LINE) for each in unexplained):
        sentences.append(f"{name}: lines and payments are matched by: malipo statements match")
    return sentences
