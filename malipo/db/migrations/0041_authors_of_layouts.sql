-- Serves: 0022
-- Whoever says how a layout is read has a part in every file that is read so: what such a file does to payments counts for
-- them too, and they are no second operator about it.
ALTER TABLE statement_profiles
    ADD COLUMN said_by jsonb NOT NULL DEFAULT '{}'; -- who saved its columns, who named its aggregator, who said each word
ALTER TABLE statement_files
    ADD COLUMN authors jsonb NOT NULL DEFAULT '[]'; -- who said how it is read, beside who imported it: [{by, said, word, rows}]
-- The status of the line, if operators said that it means that money moved; '' if malipo's own layout says so.
ALTER TABLE statement_lines ADD COLUMN word text NOT NULL DEFAULT '';
ALTER TABLE statement_line_copies ADD COLUMN word text NOT NULL DEFAULT ''; -- see statement_lines

-- Operators have rejected what the line would do to a payment: only they, or the network's own statement, match it again.
ALTER TABLE open_statement_lines ADD COLUMN rejected_in text COLLATE "C"; -- the proposal

-- What was said before is in the audit log. Of each word, who said it last.
CREATE TEMPORARY TABLE said_of_layouts ON COMMIT DROP AS
SELECT DISTINCT ON (name, said = 'columns', said = 'aggregator', lower(word)) *
FROM (
    SELECT id, actor, details ->> 'name' AS name, 'columns' AS said, '' AS word FROM audit_log
    WHERE action = 'statement_profile.saved'
    UNION ALL
    SELECT id, actor, details ->> 'name', 'aggregator', '' FROM audit_log WHERE action = 'statement_profile.aggregator'
    UNION ALL
    SELECT a.id, a.actor, a.details ->> 'name', w.said, json_array_elements_text(a.details -> w.said)
    FROM audit_log a CROSS JOIN (VALUES ('moved'), ('not_moved')) AS w (said)
    WHERE a.action = 'statement_profile.words'
) AS said
ORDER BY name, said = 'columns', said = 'aggregator', lower(word), id DESC;
UPDATE statement_profiles p SET said_by = jsonb_strip_nulls(jsonb_build_object(
    'columns', (SELECT s.actor FROM said_of_layouts s WHERE s.name = p.name AND s.said = 'columns'),
    'carrier', (SELECT s.actor FROM said_of_layouts s WHERE s.name = p.name AND s.said = 'aggregator'),
    'words', (SELECT jsonb_object_agg(lower(s.word), s.actor) FROM said_of_layouts s
              WHERE s.name = p.name AND s.said IN ('moved', 'not_moved'))));
UPDATE statement_files f SET authors = (
    SELECT jsonb_agg(jsonb_build_object('by', s.actor, 'said', s.said, 'word', s.word) ORDER BY s.id, s.word)
    FROM said_of_layouts s WHERE s.name = f.profile AND s.actor <> f.imported_by)
WHERE f.imported_by <> 'malipo' AND f.withdrawn_at IS NULL AND EXISTS (
    SELECT FROM said_of_layouts s WHERE s.name = f.profile AND s.actor <> f.imported_by);
