-- Serves: 0022
-- When a document may be read for the first time. What older processes issue has none, and can be read at once.

ALTER TABLE invoices ADD COLUMN looks jsonb;
COMMENT ON COLUMN invoices.looks IS
    'How often each worker had looked at the database at the issue. The document is read once a mark has a later look.';
