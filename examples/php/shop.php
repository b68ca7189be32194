<?php
// A small shop with the client: a customer orders, pays by mobile money, and can have the money back. PHP 8.1 with curl and
// PDO's SQLite. Malipo.php, which your malipo gives out, belongs beside this file.
//
// curl -O https://pay.example.com/docs/downloads/Malipo.php
// MALIPO_API_KEY=mlp_… MALIPO_URL=https://pay.example.com WEBHOOK_SECRET=whsec_… php -S 127.0.0.1:3000 shop.php
// DB (orders.db) may be set too. A proxy that speaks TLS, and your own log-in, belong in front of it.
//
//     POST /orders           {"amount": 5000, "phone": "+255754000001", "channel": "MPESA"}   a new order, and its payment
//     GET  /orders/ID                                                                         how far it is
//     POST /orders/ID/pay                                                                     again, if it is still NEW
//     POST /orders/ID/refund                                                                  give the money back
//     POST /webhooks                                                                          what malipo tells us
declare(strict_types=1);

use Malipo\{ApiError, Client, InvalidWebhook};

require __DIR__ . '/Malipo.php';

const TABLE = <<<SQL
    CREATE TABLE IF NOT EXISTS orders (
        id TEXT PRIMARY KEY, amount INTEGER NOT NULL, phone TEXT NOT NULL, channel TEXT NOT NULL,
        status TEXT NOT NULL DEFAULT 'NEW', payment TEXT, refund TEXT
    )
    SQL;

final class Shop
{
    private PDO $db;

    public function __construct()
    {
        $this->db = new PDO('sqlite:' . (getenv('DB') ?: 'orders.db'), options: [PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_ASSOC]);
        $this->run(TABLE);
    }

    /** It is stored before anything is sent: whatever happens then, we know what we have asked for. */
    public function order(int $amount, string $phone, string $channel): array
    {
        $id = bin2hex(random_bytes(8));
        $this->run('INSERT INTO orders (id, amount, phone, channel) VALUES (?, ?, ?, ?)', $id, $amount, $phone, $channel);
        return $this->pay($this->find($id));
    }

    /**
     * The key is made from the order, so however often this is sent, the customer is asked once. An id that is random is not
     * used again by a shop that begins anew: keys never expire.
     */
    public function pay(array $order): array
    {
        return $this->settle($order, (new Client())->payments->collect(
            amount: $order['amount'],
            channel: $order['channel'],
            buyerPhone: $order['phone'],
            orderReference: $order['id'],
            idempotencyKey: "order-{$order['id']}",
        ));
    }

    public function refund(array $order): array
    {
        $refund = (new Client())->payments->refund($order['payment'], reason: 'Returned', idempotencyKey: "refund-{$order['id']}");
        $this->run('UPDATE orders SET refund = ? WHERE id = ?', $refund['id'], $order['id']);
        return $this->find($order['id']);
    }

    public function webhook(string $body): array
    {
        $told = Client::verifyWebhook($body, $_SERVER, getenv('WEBHOOK_SECRET') ?: '');
        $order = $this->find($told['transaction']['orderReference'] ?? '');
        if ($order && str_starts_with($told['event'], 'payment.')) { // A payout is not a sale.
            $this->settle($order, $told['transaction']);
        }
        return ['event' => $told['event']];
    }

    /** Events come twice, and overtake each other: what is final stays. Only the whole amount pays an order. */
    private function settle(array $order, array $payment): array
    {
        $isWrong = $payment['status'] === 'COMPLETED' && $payment['amount'] !== $order['amount'];
        $sql = "UPDATE orders SET payment = ?, status = ? WHERE id = ? AND status IN ('NEW', 'PENDING', 'PROCESSING')";
        $this->run($sql, $payment['id'], $isWrong ? 'PLEASE LOOK' : $payment['status'], $order['id']);
        return $this->find($order['id']);
    }

    public function find(string $id): ?array
    {
        return $this->run('SELECT * FROM orders WHERE id = ?', $id)->fetch() ?: null;
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
    [$order, $act] = [$shop->find($parts[1] ?? ''), $parts[2] ?? ''];
    return match (true) {
        "$method $path" === 'POST /webhooks' => $shop->webhook($body),
        "$method $path" === 'POST /orders' => $shop->order(...json_decode($body, true, flags: JSON_THROW_ON_ERROR)),
        $order && "$method $act" === 'GET ' => $order,
        $order && "$method $act" === 'POST pay' => $shop->pay($order),
        $order && "$method $act" === 'POST refund' => $shop->refund($order),
        default => null,
    };
}

header('Content-Type: application/json');
http_response_code(503); // Until it is done. An order is kept, and can be sent again; a webhook comes again by itself.
try {
    $found = answer(new Shop(), $_SERVER['REQUEST_METHOD'], $_SERVER['REQUEST_URI'], file_get_contents('php://input'));
    http_response_code($found ? 200 : 404);
    echo json_encode($found ?? ['error' => 'no such order']);
} catch (InvalidWebhook $error) {
    http_response_code($error->status);
    echo json_encode(['error' => $error->getMessage()]);
} catch (ApiError $error) {
    http_response_code($error->status);
    echo json_encode(['error' => $error->getMessage(), 'details' => $error->details]);
}
