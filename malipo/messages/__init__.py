"""The e-mails to people and operators: the kinds, each person's choices, and the rows that wait to be sent.

A message is written in the commit of its cause (`write.py`), whether or not this service can send e-mail. Sentences and
SMTP are in `malipo/mail`.
"""
