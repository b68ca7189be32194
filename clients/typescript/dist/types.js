// What goes in and comes out, as the contract at /openapi.json has it. Amounts are whole shillings. Times are UTC, such as
// 2026-11-15T08:30:00.123Z. malipo may add fields and values: ignore what you do not know.
export {};
