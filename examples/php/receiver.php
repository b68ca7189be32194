<?php
// Receives malipo's webhooks and marks orders as paid. PHP 8 with PDO's SQLite and nothing else: copy it into your shop.
//
// WEBHOOK_SECRET=whsec_… php -S 127.0.0.1:3000 receiver.php     DB (shop.db) may be set too. Two secrets while one is
// being rotated: WEBHOOK_SECRET=whsec_old…,whsec_new…     A proxy that speaks TLS belongs in front of it.
declare(strict_types=1);

const LARGEST_BODY = 1024 * 1024;
const TOLERANCE_SECONDS = 5 * 60;
const TABLES = <<<SQL
    CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, amount INTEGER NOT NULL, paid_by TEXT);
    CREATE TABLE IF NOT EXISTS payments (reference TEXT PRIMARY KEY, order_id TEXT NOT NULL, status TEXT NOT NULL);
    CREATE TABLE IF NOT EXISTS events (id TEXT PRIMARY KEY);
    INSERT INTO orders SELECT '17', 1000, NULL WHERE NOT EXISTS (SELECT * FROM orders); -- One to try it with.
    SQL;

final class Refused extends Exception
{
}

// The event's id, if both signatures are right. Only webhook-signature covers id and time, and so stops replays.
function verify(array $secrets, string $body): string
{
    $header = fn (string $name): string => $_SERVER['HTTP_' . $name] ?? '';
    [$id, $timestamp, $standard] = array_map($header, ['WEBHOOK_ID', 'WEBHOOK_TIMESTAMP', 'WEBHOOK_SIGNATURE']);
    $plain = $header('X_SERVICE_SIGNATURE');
    if ($id === '' || $standard === '' || $plain === '' || !preg_match('/^[0-9]{1,12}$/D', $timestamp)) {
        throw new Refused('a signature header is missing or malformed', 400);
    }
    if (abs(time() - (int) $timestamp) > TOLERANCE_SECONDS) {
        throw new Refused('the timestamp is too old or too new', 401);
    }
    $goodStandard = $goodPlain = [];
    foreach ($secrets as $secret) {
        $key = base64_decode(substr($secret, strlen('whsec_')));
        $goodStandard[] = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", $key, true));
        $goodPlain[] = hash_hmac('sha256', $body, $secret);
    }
    // During a rotation each comes twice, made with the old secret and with the new one. One that fits is enough.
    if (!oneFits(explode(' ', $standard), $goodStandard)) {
        throw new Refused('webhook-signature is wrong', 401);
    }
    if (!oneFits([$plain, $header('X_SERVICE_SIGNATURE_NEXT')], $goodPlain)) {
        throw new Refused('X-Service-Signature is wrong', 401);
    }
    return $id;
}

// hash_equals takes as long for a near miss as for a far one, so nobody can guess their way by the clock.
function oneFits(array $given, array $good): bool
{
    foreach ($given as $one) {
        foreach ($good as $other) {
            if (hash_equals($other, $one)) {
                return true;
            }
        }
    }
    return false;
}

// Do what the event asks for, once. Its id and the work are one transaction: a crash leaves both or neither.
function take(string $eventId, string $body): string
{
    $told = json_decode($body, true);
    [$event, $payment] = [$told['event'] ?? null, $told['transaction'] ?? null];
    if (is_string($event) && !str_starts_with($event, 'payment.')) {
        return "$event: nothing to do"; // A payout is not a sale, and webhook.test is nothing at all.
    }
    [$reference, $amount, $status] = array_map(fn ($name) => $payment[$name] ?? null, ['reference', 'amount', 'status']);
    if (!is_string($event) || !is_string($reference) || !is_int($amount) || !is_string($status)) {
        throw new Refused('the body is no event', 400);
    }
    $order = (string) ($payment['metadata']['orderId'] ?? '-');
    $db = new PDO('sqlite:' . (getenv('DB') ?: 'shop.db'), options: [PDO::ATTR_TIMEOUT => 5]);
    $db->exec('BEGIN IMMEDIATE;' . TABLES); // Two at the same instant: one waits here for the other.
    $isNew = run($db, 'INSERT OR IGNORE INTO events VALUES (?)', [$eventId])->rowCount();
    $outcome = $isNew ? settle($db, $order, $reference, $amount, $status) : 'seen before';
    $db->exec('COMMIT');
    return "$event $reference TZS " . number_format($amount) . " order $order: $outcome";
}

// What is slow, such as an e-mail, does not belong here: let something else look for orders that were paid.
function settle(PDO $db, string $order, string $reference, int $amount, string $status): string
{
    $known = 'INSERT INTO payments VALUES (?, ?, ?) ON CONFLICT (reference) DO UPDATE SET status = excluded.status'
        . " WHERE status IN ('PENDING', 'PROCESSING')"; // Events may overtake each other, but what is final stays.
    if (!run($db, $known, [$reference, $order, $status])->rowCount()) {
        return "$status comes late";
    }
    if ($status !== 'COMPLETED') {
        return "is $status";
    }
    // The amount is what the customer paid, before any fee: it must be what the order costs.
    $paid = 'UPDATE orders SET paid_by = ? WHERE id = ? AND amount = ? AND paid_by IS NULL';
    if (run($db, $paid, [$reference, $order, $amount])->rowCount()) {
        return 'marked paid';
    }
    $found = run($db, 'SELECT amount, paid_by FROM orders WHERE id = ?', [$order])->fetch();
    if (!$found) {
        return 'PLEASE LOOK: no such order';
    }
    [$cost, $paidBy] = [number_format((int) $found['amount']), $found['paid_by']];
    return 'PLEASE LOOK: ' . ($paidBy ? "paid already by $paidBy" : "it costs TZS $cost");
}

function run(PDO $db, string $sql, array $values): PDOStatement
{
    $statement = $db->prepare($sql);
    $statement->execute($values);
    return $statement;
}

function receive(): string
{
    $secrets = explode(',', getenv('WEBHOOK_SECRET') ?: '');
    if (preg_grep('#^whsec_[A-Za-z0-9+/]{43}=$#D', $secrets) !== $secrets) {
        throw new Exception('Set WEBHOOK_SECRET to the whsec_… that was shown when the endpoint was registered.');
    }
    if ($_SERVER['REQUEST_METHOD'] !== 'POST') {
        throw new Refused('webhooks are posted', 405);
    }
    // The bytes as they came: these were signed, not the JSON in them.
    $body = file_get_contents('php://input', length: LARGEST_BODY + 1);
    if (strlen($body) > LARGEST_BODY || (int) ($_SERVER['CONTENT_LENGTH'] ?? 0) > LARGEST_BODY) {
        throw new Refused('the body is too large', 413);
    }
    return take(verify($secrets, $body), $body);
}

// Until the work is done. Anything but 2xx, and malipo tries again later; PHP may answer 200 with an error in it.
http_response_code(500);
header('Content-Type: text/plain');
try {
    $line = receive();
    error_log($line);
    http_response_code(200);
    echo "$line\n";
} catch (Refused $refused) {
    http_response_code($refused->getCode());
    echo $refused->getMessage(), "\n";
}
