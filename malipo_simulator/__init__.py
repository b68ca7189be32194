"""The mobile-money networks of Tanzania, wire for wire, with phones whose prompts a person answers.

It imports nothing of malipo, and malipo imports nothing of it: what one of them has misread, the other refuses.
"""
