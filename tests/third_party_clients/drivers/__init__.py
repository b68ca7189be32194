"""One driver for each library: it does what it is asked to through the library's public face, and says what that came to.

A driver runs in a process of its own that sees the library and nothing of ours but `wording`. Everything that it says is
in the words of `wording`, and none of it is its own opinion: where a library has a judgement (`is_successful`, an
exception) that is taken, and where it hands over the network's reply, what its own documentation tells people to read.
"""
