-- Serves: 0022
-- The worker imports a file that it fetched, though an operator has imported the same bytes: what the network itself reports
-- needs no second operator. Older processes go on taking such a file for a repeat.
DROP INDEX statement_files_once;
CREATE UNIQUE INDEX statement_files_once ON statement_files (channel, account, sha256, (imported_by = 'malipo'))
    WHERE withdrawn_at IS NULL;

-- A command that credits collections by itself, where the service does not, is stopped by the service's own word too.
ALTER TABLE operator_limits ADD COLUMN credit_by_itself boolean NOT NULL DEFAULT true; -- MALIPO_CREDIT_BY_ITSELF
