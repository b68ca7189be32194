"""Facts to tell the merchant, written in the commit that made them true."""
