-- Serves: 0014
-- Which versions a schema still serves, so that an old process can tell whether it may go on after a migration.
ALTER TABLE schema_migrations ADD COLUMN serves integer
    CONSTRAINT schema_migrations_serves CHECK (serves BETWEEN 1 AND number);
COMMENT ON TABLE schema_migrations IS 'The migrations that were applied.';
COMMENT ON COLUMN schema_migrations.serves IS
    'The last migration of the oldest version that runs on this schema; null: only versions that have this migration.';
