-- Serves: 0022
-- Lines are only inserted in the transaction that inserts their file, and files are never deleted. The check of this
-- for every single line took 6 of the 68 seconds of an import of a million lines, and memory that grew with the file.
ALTER TABLE statement_lines DROP CONSTRAINT statement_lines_file_id_fkey;
