"""Makes the e-mail of a letter: headers, text and HTML. Pure.

Headers are written by the standard library, which refuses a line end in one; the letter has none.
"""

from datetime import datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime

from malipo.mail.letter import Letter
from malipo.settings.mail import MailSender

# Seven bits: also the oldest server on the way changes nothing of it.
_POLICY = SMTP.clone(cte_type="7bit", max_line_length=78)


def email_of(
    letter: Letter, *, sender: MailSender, address: str, name: str, message_id: str, sent_at: datetime
) -> EmailMessage:
    email = EmailMessage(policy=_POLICY)
    email["From"] = Address(sender.name, addr_spec=sender.address)
    email["To"] = Address(name, addr_spec=address)
    email["Subject"] = letter.subject
    email["Date"] = format_datetime(sent_at)
    email["Message-ID"] = f"<{message_id}>"
    # For programs that answer by themselves: an answer to this would reach nobody (RFC 3834).
    email["Auto-Submitted"] = "auto-generated"
    email["X-Auto-Response-Suppress"] = "All"
    email.set_content(letter.text, cte="quoted-printable")
    email.add_alternative(letter.html, subtype="html", cte="quoted-printable")
    # At last: the library takes the headers of a content out when it gets another.
    email["Content-Language"] = str(letter.language)
    return email
