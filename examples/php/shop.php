<?php
// A small shop with the client: an order is paid by phone, tried again after a failure, and refunded. PHP 8.1 with curl and
// PDO's SQLite. Malipo.php, which your malipo gives out, belongs beside this file.
//
// curl -O https://pay.example.com/docs/downloads/Malipo.php
// MALIPO_API_KEY=mlp_… MALIPO_URL=https://pay.example.com WEBHOOK_SECRET=whsec_… php -S 127.0.0.1:3000 shop.php
// Every minute, by cron: php shop.php catch-up     It reads what no webhook has told, and sends what was never sent.
// DB (orders.db) may be set too. A proxy that speaks TLS, and your own log-in, belong in front of it. The API key needs
// payments.create, payments.read and events.read.
//
//     POST /orders             {"amount": 5000, "phone": "+255754000001", "channel": "MPESA"}   a new order, and its payment
//     POST /orders/ID/pay      {"phone": …, "channel": …} if they change                        the customer tries again
//     POST /orders/ID/refund   {"amount": 2000}, or {} for all that is left                     give money back
//     GET  /orders/ID                                                                           how far it is
//     POST /webhooks                                                                            malipo reports an event
declare(strict_types=1);

use Malipo\{ApiError, Client, InvalidWebhook, MalipoError, OutcomeUnknown, Payments};

require __DIR__ . '/Malipo.php';

// An attempt is one payment of an order, and a refund is one payout of it: each has a number, and so a key of its own.
const TABLES = <<<SQL
    CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, amount INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS attempts (
        order_id TEXT NOT NULL, number INTEGER NOT NULL, phone TEXT NOT NULL, channel TEXT NOT NULL,
        payment TEXT, status TEXT NOT NULL DEFAULT 'NEW', sends INTEGER NOT NULL DEFAULT 0, amount INTEGER, failure TEXT,
        outcome TEXT, corrected_at TEXT NOT NULL DEFAULT '', refunded INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (order_id, number)
    );
    CREATE TABLE IF NOT EXISTS refunds (
        order_id TEXT NOT NULL, number INTEGER NOT NULL, attempt INTEGER NOT NULL, amount INTEGER,
        payout TEXT, status TEXT NOT NULL DEFAULT 'NEW', sends INTEGER NOT NULL DEFAULT 0, failure TEXT,
        PRIMARY KEY (order_id, number)
    );
    CREATE TABLE IF NOT EXISTS events (id TEXT PRIMARY KEY);
    CREATE TABLE IF NOT EXISTS cursors (feed TEXT PRIMARY KEY, cursor TEXT NOT NULL);
    SQL;
const OVER = ['FAILED', 'CANCELLED', 'REFUSED'];

/** What was asked for must wait, or is done already. */
final class NotNow extends Exception {}

final class Shop
{
    private PDO $db;

    public function __construct(private readonly Client $malipo)
    {
        $options = [PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_ASSOC, PDO::ATTR_TIMEOUT => 5];
        $this->db = new PDO('sqlite:' . (getenv('DB') ?: __DIR__ . '/orders.db'), options: $options);
        $this->db->exec(TABLES);
    }

    /**
     * The order and its first attempt are stored before anything is sent. Its id is random: keys never expire, so a shop that
     * begins anew must not use them again.
     */
    public function order(int $amount, string $phone, string $channel): array
    {
        $id = bin2hex(random_bytes(8));
        $this->together(function () use ($id, $amount, $phone, $channel): void {
            $this->run('INSERT INTO orders VALUES (?, ?)', $id, $amount);
            $this->addAttempt($id, 1, $phone, $channel);
        });
        return $this->sendAttempt($id);
    }

    /**
     * The customer tries again. Only when every attempt is over is there another one, with another key: to ask again while a
     * payment is under way, or nobody knows whether there is one, may make the customer pay twice.
     */
    public function pay(string $id, ?string $phone = null, ?string $channel = null): array
    {
        $this->together(function () use ($id, $phone, $channel): void {
            $order = $this->find($id);
            $last = end($order['attempts']);
            if (array_diff([$order['status'], ...array_column($order['attempts'], 'status')], OVER) === []) {
                $this->addAttempt($id, $last['number'] + 1, $phone ?? $last['phone'], $channel ?? $last['channel']);
            } elseif ($last['status'] !== 'NEW') {
                throw new NotNow("The order is {$order['status']}.");
            }
        });
        return $this->sendAttempt($id);
    }

    private function addAttempt(string $id, int $number, string $phone, string $channel): void
    {
        $this->run('INSERT INTO attempts (order_id, number, phone, channel) VALUES (?, ?, ?, ?)', $id, $number, $phone, $channel);
    }

    /** However often this is sent, the customer is asked once: the key is that of the attempt. */
    private function sendAttempt(string $id): array
    {
        $order = $this->find($id);
        $last = end($order['attempts']);
        $key = "order-$id-{$last['number']}";
        if (!$sends = $this->countSend('attempts', $last)) {
            return $order;
        }
        try {
            $payment = $this->malipo->payments->collect(
                amount: $order['amount'],
                channel: $last['channel'],
                buyerPhone: $last['phone'],
                orderReference: $id,
                metadata: ['attempt' => $last['number']],
                idempotencyKey: $key,
            );
        } catch (ApiError $error) {
            $this->takeRefusal('attempts', $last, $sends, $key, $error);
            throw $error;
        }
        $this->run('UPDATE attempts SET payment = ? WHERE order_id = ? AND number = ?', $payment['id'], $id, $last['number']);
        $pending = "UPDATE attempts SET status = 'PENDING' WHERE order_id = ? AND number = ? AND status IN ('NEW', 'REFUSED')";
        $this->run($pending, $id, $last['number']);
        return $this->find($id);
    }

    /** Counted before each send. None, if it is known meanwhile what has become of it. */
    private function countSend(string $table, array $row): int
    {
        $which = [$row['order_id'], $row['number']];
        $sends = 0;
        $this->together(function () use ($table, $which, &$sends): void {
            $counted = "UPDATE $table SET sends = sends + 1 WHERE order_id = ? AND number = ? AND status = 'NEW'";
            if ($this->run($counted, ...$which)->rowCount()) {
                $sends = $this->run("SELECT sends FROM $table WHERE order_id = ? AND number = ?", ...$which)->fetchColumn();
            }
        });
        return (int) $sends;
    }

    /**
     * It is REFUSED only if malipo has no payment of it: the first send was refused, or malipo finds none by the key. The answer
     * to an earlier send may have been lost, and a refusal of a later one says nothing of that payment. Whatever is not certain
     * stays NEW: it is sent again with the same key, or an event tells what became of it.
     */
    private function takeRefusal(string $table, array $row, int $sends, string $key, ApiError $error): void
    {
        $refusal = $error instanceof OutcomeUnknown ? $error->getPrevious() : $error;
        if (!$refusal instanceof ApiError || $refusal->status >= 500 || $refusal->status === 429) {
            return;
        }
        try {
            if (($sends > 1 || $refusal !== $error) && $this->malipo->payments->list(idempotencyKey: $key)->valid()) {
                return;
            }
        } catch (MalipoError) {
            return; // It cannot be looked up now.
        }
        $refused = "UPDATE $table SET status = 'REFUSED', failure = ? WHERE order_id = ? AND number = ?";
        $this->run("$refused AND status = 'NEW' AND sends = ?", $refusal->errorCode, $row['order_id'], $row['number'], $sends);
    }

    /** Two clicks are one refund: there is another one only when the last one has ended. */
    public function refund(string $id, ?int $amount = null): array
    {
        $this->together(function () use ($id, $amount): void {
            $order = $this->find($id);
            $last = end($order['refunds']);
            if ($last && !in_array($last['status'], ['COMPLETED', ...OVER], true)) {
                return;
            }
            $left = array_filter($order['attempts'], fn (array $each) => self::isPaid($each) && $each['refunded'] < $each['amount']);
            $of = end($left) ?: throw new NotNow("The order is {$order['status']}.");
            $new = 'INSERT INTO refunds (order_id, number, attempt, amount) VALUES (?, ?, ?, ?)';
            $this->run($new, $id, count($order['refunds']) + 1, $of['number'], $amount);
        });
        return $this->sendRefund($id);
    }

    private function sendRefund(string $id): array
    {
        $order = $this->find($id);
        $refund = end($order['refunds']);
        $key = "refund-$id-{$refund['number']}";
        if (!$sends = $this->countSend('refunds', $refund)) {
            return $order;
        }
        try {
            $payout = $this->malipo->payments->refund(
                $order['attempts'][$refund['attempt'] - 1]['payment'],
                amount: $refund['amount'] ?? Payments::ALL_THAT_IS_LEFT,
                orderReference: "$id-{$refund['number']}",
                idempotencyKey: $key,
            );
        } catch (ApiError $error) {
            $this->takeRefusal('refunds', $refund, $sends, $key, $error);
            throw $error;
        }
        $sent = 'UPDATE refunds SET payout = ?, amount = ? WHERE order_id = ? AND number = ?';
        $this->run($sent, $payout['id'], $payout['amount'], $id, $refund['number']);
        $pending = "UPDATE refunds SET status = 'PENDING' WHERE order_id = ? AND number = ? AND status IN ('NEW', 'REFUSED')";
        $this->run($pending, $id, $refund['number']);
        return $this->find($id);
    }

    public function webhook(string $body): array
    {
        $told = Client::verifyWebhook($body, $_SERVER, getenv('WEBHOOK_SECRET') ?: '');
        $this->together(fn () => $this->take($told));
        return ['event' => $told['event']];
    }

    /** What no webhook has told, from the feed; and what was stored and never sent, with the same key. */
    public function catchUp(): void
    {
        do {
            $page = $this->newPage();
            $this->together(function () use ($page): void {
                array_map($this->take(...), $page['events']);
                $this->run("REPLACE INTO cursors VALUES ('events', ?)", $page['next']);
            });
        } while (count($page['events']) === 100);
        $unsent = "SELECT DISTINCT order_id FROM %s WHERE status = 'NEW'";
        foreach (['attempts' => $this->sendAttempt(...), 'refunds' => $this->sendRefund(...)] as $table => $send) {
            foreach ($this->run(sprintf($unsent, $table))->fetchAll(PDO::FETCH_COLUMN) as $id) {
                try {
                    $send($id);
                } catch (ApiError $error) { // The others are sent all the same.
                    error_log("not sent: {$error->getMessage()}");
                }
            }
        }
    }

    private function newPage(): array
    {
        $cursor = $this->run("SELECT cursor FROM cursors WHERE feed = 'events'")->fetchColumn() ?: null;
        $read = fn (?string $after): array => $this->malipo->request('GET', '/v1/events', query: ['limit' => 100] + ($after ? ['after' => $after] : []));
        try {
            return $read($cursor);
        } catch (ApiError $error) {
            return match ($error->errorCode) {
                'cursor_expired' => $read(null), // From the oldest event that is kept.
                'cursor_lost' => $read($error->details['goOn'][0]), // The service was restored: look up the payments of that time too.
                default => throw $error,
            };
        }
    }

    /** An event, by webhook or from the feed. Its id and the work are one transaction: a crash leaves both or neither. */
    private function take(array $event): void
    {
        if (!$this->run('INSERT OR IGNORE INTO events VALUES (?)', $event['id'])->rowCount()) {
            return; // Seen before.
        }
        $payment = $event['transaction'] ?? [];
        if (str_starts_with($event['event'], 'payment.')) {
            $this->takePayment($payment);
        } elseif (isset($payment['refundOf'])) {
            $this->takeRefund($payment);
        }
    }

    private function takePayment(array $payment): void
    {
        $which = [$payment['orderReference'] ?? '', $payment['metadata']['attempt'] ?? 0];
        $set = fn (string $what, array $values, string $if = '', array $more = []) => $this->run(
            "UPDATE attempts SET $what WHERE order_id = ? AND number = ?$if", ...$values, ...$which, ...$more,
        );
        // An event stands above a refusal. Events overtake each other: no PENDING changes what is final, and of two corrections the later one counts.
        $told = [$payment['id'], $payment['amount'], $payment['refundedAmount'] ?? 0];
        $set('payment = ?, amount = ?, refunded = max(refunded, ?)', $told);
        $told = [$payment['status'], $payment['failureCode'] ?? null];
        $set('status = ?, failure = ?', $told, " AND status IN ('NEW', 'REFUSED', 'PENDING', 'PROCESSING')");
        if ($correction = $payment['correction'] ?? null) {
            ['outcome' => $outcome, 'correctedAt' => $at] = $correction;
            $set('outcome = ?, corrected_at = ?', [$outcome, $at], ' AND corrected_at < ?', [$at]);
        }
    }

    private function takeRefund(array $payout): void
    {
        preg_match('/^(\w+)-(\d+)$/D', $payout['orderReference'] ?? '', $parts);
        // A failed refund that was paid after all has the outcome COMPLETED: do not send it again.
        $status = $payout['correction']['outcome'] ?? $payout['status'];
        $mayChange = isset($payout['correction']) ? '' : " AND status IN ('NEW', 'REFUSED', 'PENDING', 'PROCESSING')";
        $told = "UPDATE refunds SET payout = ?, amount = ?, status = ? WHERE order_id = ? AND number = ?$mayChange";
        $this->run($told, $payout['id'], $payout['amount'], $status, $parts[1] ?? '', $parts[2] ?? 0);
    }

    public function find(string $id): ?array
    {
        if (!$order = $this->run('SELECT * FROM orders WHERE id = ?', $id)->fetch()) {
            return null;
        }
        foreach (['attempts', 'refunds'] as $name) {
            $order[$name] = $this->run("SELECT * FROM $name WHERE order_id = ? ORDER BY number", $id)->fetchAll();
        }
        return $order + ['status' => self::statusOf($order['amount'], $order['attempts'])];
    }

    /** The status of an order, computed from all its payments: a failed one may still turn out to be paid. */
    private static function statusOf(int $amount, array $attempts): string
    {
        $paid = array_filter($attempts, self::isPaid(...));
        $received = array_sum(array_column($paid, 'amount'));
        $refunded = array_sum(array_column($paid, 'refunded'));
        return match (true) {
            count(array_filter($paid, fn (array $each) => $each['refunded'] < $each['amount'])) > 1 => 'PAID_TWICE', // Refund one of them.
            array_diff(array_column($paid, 'amount'), [$amount]) !== [] => 'PLEASE_LOOK',
            $paid !== [] && $received - $refunded >= $amount => 'PAID',
            $paid !== [] => $refunded === $received ? 'REFUNDED' : 'PARTLY_REFUNDED',
            in_array('COMPLETED', array_column($attempts, 'status'), true) => 'TAKEN_BACK', // Reversed by its network: talk to the customer.
            default => end($attempts)['status'],
        };
    }

    private static function isPaid(array $attempt): bool
    {
        return ($attempt['outcome'] ?? $attempt['status']) === 'COMPLETED';
    }

    /** All of it is kept, or nothing. */
    private function together(Closure $work): void
    {
        $this->db->exec('BEGIN IMMEDIATE');
        try {
            $work();
            $this->db->exec('COMMIT');
        } catch (Throwable $error) {
            $this->db->exec('ROLLBACK');
            throw $error;
        }
    }

    private function run(string $sql, mixed ...$values): PDOStatement
    {
        $statement = $this->db->prepare($sql);
        $statement->execute($values);
        return $statement;
    }
}

function answer(Shop $shop, string $method, string $path, string $body): ?array
{
    preg_match('#^/orders/(\w+)(?:/(\w+))?$#', $path, $parts);
    [$id, $act] = [$parts[1] ?? '', $parts[2] ?? ''];
    if ("$method $path" === 'POST /webhooks') {
        return $shop->webhook($body);
    }
    $asked = $body === '' ? [] : json_decode($body, true, flags: JSON_THROW_ON_ERROR);
    $order = $shop->find($id);
    return match (true) {
        "$method $path" === 'POST /orders' => $shop->order($asked['amount'], $asked['phone'], $asked['channel']),
        $order && "$method $act" === 'GET ' => $order,
        $order && "$method $act" === 'POST pay' => $shop->pay($id, $asked['phone'] ?? null, $asked['channel'] ?? null),
        $order && "$method $act" === 'POST refund' => $shop->refund($id, $asked['amount'] ?? null),
        default => null,
    };
}

if (PHP_SAPI === 'cli') {
    ($argv[1] ?? '') === 'catch-up' || exit('php shop.php catch-up, or php -S 127.0.0.1:3000 shop.php');
    (new Shop(new Client()))->catchUp();
    exit;
}
header('Content-Type: application/json');
http_response_code(503); // Until it is done. The attempt is kept, and sent again; a webhook comes again by itself.
try {
    $found = answer(new Shop(new Client()), $_SERVER['REQUEST_METHOD'], $_SERVER['REQUEST_URI'], file_get_contents('php://input'));
    http_response_code($found ? 200 : 404);
    echo json_encode($found ?? ['error' => 'no such order']);
} catch (NotNow $error) {
    http_response_code(409);
    echo json_encode(['error' => $error->getMessage()]);
} catch (InvalidWebhook $error) {
    http_response_code($error->status);
    echo json_encode(['error' => $error->getMessage()]);
} catch (ApiError $error) {
    http_response_code($error->status);
    echo json_encode(['error' => $error->getMessage(), 'details' => $error->details]);
}
