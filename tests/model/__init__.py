"""A seeded model of networks and of time: whole lives of payments, judged by an oracle that does not know the code."""
