"""What is counted, timed and gauged, for Prometheus."""
