"""After a restore: the fence, while nothing is sent; holds; and the release by two operators."""
