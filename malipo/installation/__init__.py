"""What an installation knows of itself: the secret of its network keys, its epochs, fences and holds."""
