"""HaloPesa of Halotel."""
