"""Networks' statements as files: fetch, read, doubt, import, approve and withdraw them."""
