"""SQL of links and of their attempts."""
