"""ClickPesa, an aggregator, with statements by its API."""
