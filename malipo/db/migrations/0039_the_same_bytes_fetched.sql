-- Serves: 0022
-- The worker imports a file that it fetched, though an operator has imported the same bytes: what the network itself reports
-- needs no second operator. Older processes go on taking such a file for a repeat.
DROP INDEX statement_files_once;
CREATE UNIQUE INDEX statement_files_once ON statement_files (channel, account, sha256, (imported_by = 'malipo'))
    WHERE withdrawn_at IS NULL;
