"""Rollups: counts of numbered things in buckets, so that totals and deep pages need not read the things themselves."""
