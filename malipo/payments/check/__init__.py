"""`malipo ledger check`: payments against the book, the feed and the counts. It reads, and never mends."""
