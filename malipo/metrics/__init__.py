"""The counters, timers and gauges for Prometheus."""
