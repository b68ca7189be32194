"""Finding payments: by the merchant's own numbers, page by page, with every field, in two languages."""
