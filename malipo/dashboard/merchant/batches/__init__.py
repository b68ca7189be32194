"""Pages of batches: sending a spreadsheet, mending it, submitting it, approving it and following it."""
