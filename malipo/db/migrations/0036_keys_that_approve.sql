-- Serves: 0022
-- A key approves only if that was named when it was made. A key that was made at the command line without --permissions has every
-- permission: it loses this one. One that was made with every permission by name cannot be told from it, and loses it too; it is
-- made again where it is needed. Keys that people made on the page, where each permission is ticked, keep it.
UPDATE api_keys SET permissions = array_remove(permissions, 'payouts.approve')
WHERE permissions @> ARRAY['payments.read', 'payments.create', 'recipients.lookup', 'wallet.read', 'events.read', 'webhooks.manage', 'payouts.approve']
  AND (created_by IS NULL OR created_by LIKE 'operator %' OR created_by LIKE 'user %');
