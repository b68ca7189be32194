"""Whether a secret could be guessed. Pure.

Length alone is not enough: what is repeated, counts up, or stands in our documentation is guessed first.
"""

from itertools import pairwise

_LEAST_CHARACTERS = 6  # different ones; 16 random hex digits have fewer once in 10,000,000, and 40 never
_MOST_PREDICTABLE = 0.5  # of the steps from one character to the next

# Examples in the documentation, present and past.
_SHOWN = {
    "0123456789abcdef0123456789abcdef",
    "fedcba9876543210fedcba9876543210",
    "a-long-random-word",
    "q7Jw2mT9xLpZ4kVb8RsN",
    "abcdefghij0123456789",
}


def weakness_of(secret: str) -> str | None:
    """The weakness of a secret, as the rest of a sentence; None if it is strong."""
    if secret in _SHOWN:
        return "is an example of the documentation, which everybody knows"
    if len(set(secret)) < _LEAST_CHARACTERS or secret in (secret + secret)[1:-1]:
        return "repeats itself, and can be guessed"
    steps = [abs(ord(next_) - ord(each)) <= 1 for each, next_ in pairwise(secret)]
    if sum(steps) > _MOST_PREDICTABLE * len(steps):
        return "counts up or down, and can be guessed"
    return None
