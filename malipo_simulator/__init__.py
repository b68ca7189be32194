"""A simulator of Tanzania's mobile-money networks: their interfaces, with phones whose prompts a person answers.

It imports nothing of malipo, and malipo imports nothing of it: a misreading in one fails against the other.
"""
