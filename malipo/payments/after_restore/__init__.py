"""What a restore does to payments: the fence, the status while nothing is sent, and the release by two operators."""
