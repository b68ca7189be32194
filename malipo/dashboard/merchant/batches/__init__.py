"""Pages of batches: sending a spreadsheet, fixing it, submitting it, approving it and following it."""
