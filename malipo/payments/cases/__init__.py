"""Cases: payments that operators decide about, why they are cases, and what a resolution does."""
