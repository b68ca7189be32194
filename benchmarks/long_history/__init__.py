"""`bench long-history`: whether payments become slower when a database has millions of them."""
