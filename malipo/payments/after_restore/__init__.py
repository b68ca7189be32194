"""Payments after a restore: the fence, the status while nothing is sent, and the release by two operators."""
