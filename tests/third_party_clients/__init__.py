"""Client libraries that other people wrote for these networks, run against the simulator with only the address changed.

A misreading that our connector, our simulator and our tests share is invisible to all three; these know nothing of ours.
"""
