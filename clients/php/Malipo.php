<?php
// Takes mobile-money payments and sends payouts in Tanzania with malipo. PHP 8.1 or newer with curl: copy this one file,
// or hand in a PSR-18 client of your own.
//
//     require 'Malipo.php';
//     $malipo = new Malipo\Client(); // MALIPO_API_KEY and MALIPO_URL
//     $payment = $malipo->payments->collect(amount: 1000, channel: 'MPESA', buyerPhone: '+255754000123', idempotencyKey: 'order-17-1');
//     $payment = $malipo->payments->waitUntilEnded($payment['id']); // or a webhook: Malipo\Client::verifyWebhook
// What comes back are arrays with the fields of the contract at /openapi.json. Amounts are whole shillings.
declare(strict_types=1);

namespace Malipo;

use Psr\Http\Client\{ClientExceptionInterface, ClientInterface};
use Psr\Http\Message\{RequestFactoryInterface, StreamFactoryInterface};

/** Everything that this client throws, beside TypeErrors. */
class MalipoError extends \Exception {}

/** malipo answered, and said no. Decide by errorCode; the message is a sentence for people. */
class ApiError extends MalipoError
{
    /** @param array<string, list<string>> $details each bad field, with everything that is wrong with it */
    public function __construct(
        string $message,
        public readonly int $status,
        public readonly string $errorCode, // As listed in docs/errors.md; http_502 if a proxy answered in place of malipo.
        public readonly array $details,
        public readonly ?string $requestId, // Quote it when you ask for help.
        public readonly ?int $retryAfter,
        public readonly ?string $idempotencyKey, // Send it again with the same one, and nothing is paid twice.
        ?\Throwable $previous = null,
    ) {
        parent::__construct($message, $status, $previous);
    }
}

class InvalidRequest extends ApiError {} // 400, 405, 413: correct it; details names every bad field. The key is still unused.
class InsufficientBalance extends InvalidRequest {} // The wallet does not hold enough.
class AuthenticationFailed extends ApiError {} // 401: the API key is missing, unknown, expired or revoked.
class PermissionDenied extends ApiError {} // 403: what this key may do.
class NotFound extends ApiError {} // 404: there is no such thing, or it is not yours.
class Conflict extends ApiError {} // 409: it contradicts what already happened.
class IdempotencyKeyReused extends Conflict {} // The Idempotency-Key was used for another request.
class RateLimited extends ApiError {} // 429: wait retryAfter seconds.
class Unavailable extends ApiError {} // 408 and 5xx: not now. Send it again with the same idempotencyKey.
/**
 * It may have been done. Send it again with the same idempotencyKey. Also when the answer to a try was lost and the next try was
 * refused: the refusal is getPrevious().
 */
class OutcomeUnknown extends Unavailable {}

/** No answer came. It may have been done: send it again with the same idempotencyKey. */
class ConnectionFailed extends MalipoError
{
    public function __construct(string $message, public readonly ?string $idempotencyKey)
    {
        parent::__construct($message);
    }
}

/** The payment is still under way after the time that you gave it. */
class NotEndedYet extends MalipoError
{
    public function __construct(public readonly array $transaction)
    {
        parent::__construct("{$transaction['reference']} is still {$transaction['status']}");
    }
}

/** Do not believe this webhook. Answer it with the status: 400 if it is malformed, 401 if signature or time are wrong. */
class InvalidWebhook extends MalipoError
{
    public function __construct(public readonly int $status, string $message)
    {
        parent::__construct($message, $status);
    }
}

/** Your merchant at a malipo. */
final class Client
{
    public const VERSION = '0.5.0';
    private const LONGEST_WAIT_SECONDS = 60; // A longer Retry-After is for the caller to wait for.
    private const LONGEST_FOR_LIMIT_SECONDS = 61; // In all. The window of a rate limit is a minute, so who waits gets through.
    private const NOTHING_WAS_DONE = ['unavailable', 'restored', 'on_hold', 'rate_limited']; // So anything may be sent again.
    private const ERRORS = [
        'insufficient_balance' => InsufficientBalance::class, 'idempotency_key_reused' => IdempotencyKeyReused::class,
        'outcome_unknown' => OutcomeUnknown::class, 401 => AuthenticationFailed::class, 403 => PermissionDenied::class,
        404 => NotFound::class, 408 => Unavailable::class, 409 => Conflict::class, 429 => RateLimited::class,
    ];

    public readonly Payments $payments;
    public readonly Batches $batches;
    public readonly Links $links;
    public readonly Settlements $settlements;
    public readonly Wallet $wallet;
    public readonly Channels $channels;
    public readonly Recipients $recipients;
    public readonly Events $events;
    public readonly Webhooks $webhooks;
    private readonly string $apiKey;
    private readonly string $baseUrl;
    private ?\CurlHandle $curl = null; // Kept, so that its connection is.

    /** Without arguments: MALIPO_API_KEY and MALIPO_URL; it throws without. A PSR-18 client comes with its factories of PSR-17. */
    public function __construct(
        #[\SensitiveParameter] ?string $apiKey = null, ?string $baseUrl = null,
        private readonly float $timeout = 30, private readonly int $retries = 3,
        private readonly ?ClientInterface $http = null,
        private readonly ?RequestFactoryInterface $requests = null, private readonly ?StreamFactoryInterface $streams = null,
    ) {
        $this->apiKey = ($apiKey ?? getenv('MALIPO_API_KEY')) ?: throw new MalipoError('No API key: set MALIPO_API_KEY, or pass apiKey.');
        $this->baseUrl = rtrim((string) ($baseUrl ?? getenv('MALIPO_URL')), '/')
            ?: throw new MalipoError('No address: set MALIPO_URL, or pass baseUrl.');
        $this->payments = new Payments($this);
        $this->batches = new Batches($this);
        $this->links = new Links($this);
        $this->settlements = new Settlements($this);
        $this->wallet = new Wallet($this);
        $this->channels = new Channels($this);
        $this->recipients = new Recipients($this);
        $this->events = new Events($this);
        $this->webhooks = new Webhooks($this);
    }

    /**
     * The event in a webhook, if malipo signed it within the last five minutes: its id, event and transaction. batch.completed,
     * which an endpoint gets that subscribes to it or to "*", has a batch in place of the transaction; link.paid and link.late a link,
     * settlement.completed and settlement.returned a settlement. Look at event first.
     * $body: as it came, file_get_contents('php://input') or $request->getContent(). $headers: getallheaders(), $_SERVER or
     * $request->headers->all(). $secret: the whsec_… of the endpoint; while it is being changed both, with a comma or as a list.
     *
     * @return array{id: string, event: string, transaction?: array<string, mixed>, batch?: array<string, mixed>, link?: array<string, mixed>, settlement?: array<string, mixed>}
     */
    public static function verifyWebhook(
        string $body, array $headers, #[\SensitiveParameter] string|array $secret, int $tolerance = 300,
    ): array {
        $secrets = is_array($secret) ? $secret : explode(',', $secret);
        if ($secrets === [] || preg_grep('#^whsec_[A-Za-z0-9+/]{43}=$#D', $secrets) !== $secrets) {
            throw new MalipoError('The secret must be the whsec_… that was shown when the endpoint was registered.');
        }
        $sent = [];
        foreach ($headers as $name => $value) {
            $name = preg_replace('/^http-/', '', strtr(strtolower((string) $name), '_', '-'));
            $sent[$name] = (string) (is_array($value) ? reset($value) : $value);
        }
        [$id, $timestamp, $signatures] = array_map(fn ($name) => $sent["webhook-$name"] ?? '', ['id', 'timestamp', 'signature']);
        if ($id === '' || $signatures === '' || !preg_match('/^[0-9]{1,12}$/D', $timestamp)) {
            throw new InvalidWebhook(400, 'a header of the webhook is missing or malformed');
        }
        if (abs(time() - (int) $timestamp) > $tolerance) {
            throw new InvalidWebhook(401, 'the webhook is too old, or from the future');
        }
        $fits = false; // During a rotation there are two signatures, and perhaps two secrets. One that fits is enough.
        foreach ($secrets as $each) {
            $key = base64_decode(substr($each, strlen('whsec_')));
            $good = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", $key, true));
            foreach (explode(' ', $signatures) as $signature) {
                $fits = hash_equals($good, $signature) || $fits; // In constant time.
            }
        }
        if (!$fits) {
            throw new InvalidWebhook(401, 'the webhook\'s signature is wrong');
        }
        $told = json_decode($body, true);
        $about = current(array_filter(['transaction', 'batch', 'link', 'settlement'], fn ($each) => isset($told[$each]))) ?: 'transaction';
        [$event, $subject] = [$told['event'] ?? null, $told[$about] ?? null];
        $texts = [$event, $subject[$about === 'transaction' ? 'reference' : 'id'] ?? null, $subject['status'] ?? null];
        if (array_filter($texts, 'is_string') !== $texts || !is_int($subject[$about === 'link' ? 'paidAmount' : 'amount'] ?? null)) {
            throw new InvalidWebhook(400, 'the webhook\'s body is no event');
        }
        return ['id' => $id, 'event' => $event, $about => $subject];
    }

    /**
     * Any route of the API, for what has no method here: $malipo->request('GET', '/v1/wallet', gives: 'wallet'). Without gives,
     * the whole answer; with isText, the text of a file alone in a list. What was perhaps done is sent again only if it is a
     * GET, has an idempotencyKey, or isRepeatable.
     */
    public function request(
        string $method, string $path, ?array $body = null, array $query = [], ?string $idempotencyKey = null,
        ?string $gives = null, bool $isRepeatable = false, int $wait = 0, ?string $language = null, bool $isText = false,
    ): array {
        if ($idempotencyKey !== null && !preg_match('/^[!-~]{1,255}$/D', $idempotencyKey)) {
            throw new MalipoError('The idempotencyKey must be 1 to 255 visible ASCII characters.');
        }
        $isRepeatable = $isRepeatable || $method === 'GET' || $idempotencyKey !== null;
        $headers = array_filter([
            'x-api-key' => $this->apiKey, 'user-agent' => 'malipo-client-php/' . self::VERSION,
            'accept-language' => $language,
            'content-type' => $body === null ? null : 'application/json', 'idempotency-key' => $idempotencyKey,
        ], is_string(...));
        // Several values of one parameter have commas between them.
        $query = array_map(fn ($value) => is_array($value) ? implode(',', $value) : $value, $query);
        $url = rtrim($this->baseUrl . $path . '?' . http_build_query($query), '?');
        $given = array_filter($body ?? [], fn ($value) => $value !== null);
        try {
            $json = $body === null ? '' : json_encode((object) $given, JSON_THROW_ON_ERROR);
        } catch (\JsonException $error) {
            throw new MalipoError("The request cannot be written as JSON: {$error->getMessage()}");
        }
        $mayBeDone = false; // By a try whose answer was lost.
        [$limits, $waited] = [0, 0.0];
        for ($attempt = 0;;) {
            try {
                return $this->attempt($method, $url, $headers, $json, $this->timeout + $wait, $gives, $isText);
            } catch (ApiError | ConnectionFailed $error) {
                if ($error instanceof RateLimited && $error->errorCode === 'rate_limited') {
                    // It does not count as a retry. But who wants none is not kept waiting. Others of 429 are limits of a day.
                    $left = self::LONGEST_FOR_LIMIT_SECONDS - $waited;
                    $seconds = $this->retries > 0 ? self::secondsForLimit($error, $limits++, $left) : null;
                    $waited += $seconds;
                } else {
                    $seconds = $attempt < $this->retries ? self::secondsUntilRetry($error, $isRepeatable, $attempt) : null;
                    $attempt++;
                }
                if ($seconds === null) {
                    throw $mayBeDone && $method !== 'GET' ? self::unknownAfter($error) : $error;
                }
                $mayBeDone = $mayBeDone || self::leavesDoubt($error);
                usleep((int) (1_000_000 * $seconds));
            }
        }
    }

    /** Whether the try may have been done, although it failed. */
    private static function leavesDoubt(ApiError|ConnectionFailed $error): bool
    {
        return $error instanceof ConnectionFailed
            || (($error->status === 408 || $error->status >= 500) && !in_array($error->errorCode, self::NOTHING_WAS_DONE, true));
    }

    /** An error that says that nothing was done speaks of its own try. After one whose answer was lost, nobody knows. */
    private static function unknownAfter(ApiError|ConnectionFailed $error): ApiError|ConnectionFailed
    {
        // A key that belongs to another request: then no try of this one was done.
        if (self::leavesDoubt($error) || $error instanceof IdempotencyKeyReused) {
            return $error;
        }
        $sentence = "It may have been done: an earlier try had no answer. The last one: {$error->getMessage()}";
        [$details, $id, $after, $key] = [$error->details, $error->requestId, $error->retryAfter, $error->idempotencyKey];
        return new OutcomeUnknown($sentence, 503, 'outcome_unknown', $details, $id, $after, $key, $error);
    }

    /** As long as malipo says, and up to seconds more, so that not all who wait come back at once. */
    private static function secondsForLimit(RateLimited $error, int $limits, float $left): ?float
    {
        $told = (float) $error->retryAfter;
        return $told < $left ? min($told + random_int(0, 1000) / 1000 * min(8, 2 ** $limits), $left) : null;
    }

    /** How long to wait before it is sent again; null if it must not be. */
    private static function secondsUntilRetry(ApiError|ConnectionFailed $error, bool $isRepeatable, int $attempt): ?float
    {
        [$status, $code, $told] = $error instanceof ApiError ? [$error->status, $error->errorCode, $error->retryAfter] : [0, '', null];
        $mayPass = in_array($status, [0, 408, 429], true) || ($status >= 500 && $code !== 'query_timeout');
        $isSafe = in_array($code, self::NOTHING_WAS_DONE, true) || ($isRepeatable && $mayPass);
        if (!$isSafe || $told > self::LONGEST_WAIT_SECONDS) {
            return null;
        }
        // Not all at the same moment, if many wait for the same outage to end.
        $jitter = random_int(0, 1000) / 1000 * min(8, 0.5 * 2 ** $attempt);
        return $told === null ? $jitter : $told + $jitter / 4;
    }

    private function attempt(string $method, string $url, array $headers, string $json, float $timeout, ?string $gives, bool $isText): array
    {
        $key = $headers['idempotency-key'] ?? null;
        [$status, $told, $text] = $this->http === null
            ? $this->sendByCurl($method, $url, $headers, $json, $timeout)
            : $this->sendByPsr18($method, $url, $headers, $json);
        $answer = json_decode($text, true);
        if ($isText && $status === 200 && str_starts_with($told['content-type'] ?? '', 'text/csv')) {
            return [$text];
        }
        if ($status >= 200 && $status < 300) {
            // Otherwise it is such as the log-in page of a hotel's network. Nobody knows whether malipo has heard anything.
            $given = ($answer['success'] ?? null) !== true ? null : ($gives === null ? $answer : $answer[$gives] ?? null);
            is_array($given) || throw new ConnectionFailed("what answers at $this->baseUrl is not malipo", $key);
            if ($key === null || $gives === null) {
                return $given;
            }
            // The key may have been used before, perhaps by this call, whose answer was lost. Then the fields are those of the first
            // answer: currentStatus is the one of now, and get() has the rest.
            $isReplay = ($told['idempotency-replayed'] ?? '') === 'true';
            $now = $isReplay ? $told['idempotency-replayed-status'] ?? null : null;
            return $given + ['isReplay' => $isReplay, 'currentStatus' => $now ?? $given['status'] ?? null];
        }
        $code = $told['x-error-code'] ?? "http_$status";
        $byHundred = $status >= 500 ? Unavailable::class : ($status >= 400 ? InvalidRequest::class : ApiError::class);
        $kind = self::ERRORS[$code] ?? self::ERRORS[$status] ?? $byHundred;
        $after = $told['retry-after'] ?? '';
        $sentence = is_string($answer['error'] ?? null) ? $answer['error'] : "HTTP $status";
        $details = is_array($answer['details'] ?? null) ? $answer['details'] : [];
        $seconds = ctype_digit($after) ? (int) $after : null;
        throw new $kind($sentence, $status, $code, $details, $told['x-request-id'] ?? null, $seconds, $key);
    }

    /** A redirect is not followed: it would take the key, and the payment, to somebody else. */
    private function sendByCurl(string $method, string $url, array $headers, string $json, float $timeout): array
    {
        $told = [];
        curl_reset($this->curl ??= curl_init());
        curl_setopt_array($this->curl, [
            CURLOPT_URL => $url,
            CURLOPT_PROTOCOLS => CURLPROTO_HTTP | CURLPROTO_HTTPS,
            CURLOPT_CUSTOMREQUEST => $method,
            CURLOPT_HTTPHEADER => ['expect:', ...array_map(fn ($name) => "$name: $headers[$name]", array_keys($headers))],
            CURLOPT_RETURNTRANSFER => true,
            CURLOPT_FOLLOWLOCATION => false,
            CURLOPT_TIMEOUT_MS => (int) ($timeout * 1000),
            CURLOPT_HEADERFUNCTION => function ($_, string $line) use (&$told): int {
                [$name, $value] = explode(':', $line, 2) + [1 => ''];
                $told[strtolower($name)] = trim($value);
                return strlen($line);
            },
        ] + ($json === '' ? [] : [CURLOPT_POSTFIELDS => $json]));
        $text = curl_exec($this->curl);
        if ($text === false) {
            throw new ConnectionFailed("no answer from $this->baseUrl: " . curl_error($this->curl), $headers['idempotency-key'] ?? null);
        }
        return [curl_getinfo($this->curl, CURLINFO_RESPONSE_CODE), $told, $text];
    }

    /** Its timeout, and that it follows no redirects, are settings of that client. */
    private function sendByPsr18(string $method, string $url, array $headers, string $json): array
    {
        $request = $this->requests->createRequest($method, $url)->withBody($this->streams->createStream($json));
        foreach ($headers as $name => $value) {
            $request = $request->withHeader($name, $value);
        }
        try {
            $response = $this->http->sendRequest($request);
            $told = array_map(fn (array $values) => $values[0] ?? '', array_change_key_case($response->getHeaders()));
            return [$response->getStatusCode(), $told, (string) $response->getBody()];
        } catch (ClientExceptionInterface | \RuntimeException $error) {
            throw new ConnectionFailed("no answer from $this->baseUrl: {$error->getMessage()}", $headers['idempotency-key'] ?? null);
        }
    }
}

/** Take money, send money, look it up, give it back. */
final class Payments
{
    public const ALL_THAT_IS_LEFT = PHP_INT_MIN; // Not null: a mistake in the shop must not give everything back.
    private const ENDED = ['COMPLETED', 'FAILED', 'CANCELLED'];

    public function __construct(private readonly Client $client) {}

    /** Ask a customer to pay. They get a prompt on the phone; you learn by webhook, or by waitUntilEnded, whether they paid. */
    public function collect(
        int $amount, string $channel, string $buyerPhone, ?string $buyerName = null, ?string $description = null,
        ?array $metadata = null, ?string $orderReference = null, ?string $idempotencyKey = null, ?string $currency = null,
    ): array {
        return $this->pay('/v1/payments', get_defined_vars());
    }

    /** Send money from your wallet to a phone. */
    public function disburse(
        int $amount, string $channel, string $recipientPhone, ?string $recipientName = null, ?string $description = null,
        ?array $metadata = null, ?string $orderReference = null, ?string $idempotencyKey = null, ?string $currency = null,
    ): array {
        return $this->pay('/v1/payments/disburse', get_defined_vars());
    }

    /** Give the money of a collection back. */
    public function refund(
        string $id, int $amount = self::ALL_THAT_IS_LEFT, ?string $reason = null, ?string $orderReference = null,
        ?string $idempotencyKey = null, ?string $currency = null,
    ): array {
        $amount = $amount === self::ALL_THAT_IS_LEFT ? null : $amount;
        $fields = compact('amount', 'reason', 'orderReference', 'idempotencyKey', 'currency');
        return $this->pay(path('/v1/payments/{id}/refund', $id), $fields);
    }

    /** By id or reference. With wait the answer is held for so many seconds, until the status changes. */
    public function get(string $id, int $wait = 0, ?string $language = null): array
    {
        return $this->client->request('GET', path('/v1/payments/{id}', $id), null, compact('wait'), null, 'transaction', true, $wait, $language);
    }

    /** Of a COMPLETED payment: its page for the customer, and the proof of what became of it. */
    public function receipt(string $id): array
    {
        return $this->client->request('GET', path('/v1/payments/{id}/receipt', $id), gives: 'receipt');
    }

    /** Every payment that fits, the newest first: foreach ($malipo->payments->list(status: 'FAILED') as $payment). */
    public function list(int $pageSize = 100, string|array ...$filters): \Generator
    {
        $filters = ['view' => 'full', 'limit' => $pageSize] + $filters; // All those of GET /v1/payments.
        do {
            $found = $this->client->request('GET', '/v1/payments', query: $filters, gives: 'transactions');
            foreach ($found as $transaction) {
                yield $transaction;
                $filters['before'] = $transaction['id']; // So that what is made meanwhile moves nothing.
            }
        } while (count($found) === $pageSize);
    }

    /** While it is PENDING. Again is the same again. */
    public function cancel(string $id): array
    {
        return $this->client->request('POST', path('/v1/payments/{id}/cancel', $id), gives: 'transaction', isRepeatable: true);
    }

    /** What it would cost. The type is COLLECTION or DISBURSEMENT. */
    public function quote(string $type, string $channel, int $amount, ?string $currency = null): array
    {
        return $this->client->request('POST', '/v1/payments/quote', get_defined_vars(), gives: 'quote', isRepeatable: true);
    }

    /** The payment once it is COMPLETED, FAILED or CANCELLED. If that takes longer, it throws NotEndedYet. */
    public function waitUntilEnded(string $id, int $timeout = 180): array
    {
        $end = microtime(true) + $timeout;
        do {
            $left = (int) max(0, ceil($end - microtime(true)));
            $transaction = $this->get($id, min($left, 25));
        } while (!($hasEnded = in_array($transaction['status'], self::ENDED, true)) && $left);
        return $hasEnded ? $transaction : throw new NotEndedYet($transaction);
    }

    private function pay(string $path, array $fields): array
    {
        $key = $fields['idempotencyKey'] ?? bin2hex(random_bytes(16)); // One for all attempts, so that they are one payment.
        unset($fields['idempotencyKey']);
        $fields['metadata'] = isset($fields['metadata']) ? (object) $fields['metadata'] : null; // {} even if it is empty.
        return $this->client->request('POST', $path, $fields, idempotencyKey: $key, gives: 'transaction');
    }
}

/** Many payouts at once, made by one person and approved by another. */
final class Batches
{
    public function __construct(private readonly Client $client) {}

    /** Nothing moves before it is approved. Each item has an amount, a channel and a recipientPhone. */
    public function create(array $items, ?string $name = null, ?string $idempotencyKey = null): array
    {
        $key = $idempotencyKey ?? bin2hex(random_bytes(16));
        return $this->client->request('POST', '/v1/payments/disburse/batches', compact('name', 'items'), [], $key, 'batch');
    }

    public function get(string $id): array
    {
        return $this->client->request('GET', path('/v1/payments/disburse/batches/{id}', $id), gives: 'batch');
    }

    /** Every batch, the newest first. */
    public function list(?string $status = null, int $pageSize = 100): \Generator
    {
        $page = fn (array $query) => $this->client->request('GET', '/v1/payments/disburse/batches', null, $query, gives: 'batches');
        return pages($page, $pageSize, compact('status'), fn ($each, $last) => $each['id'] < $last['id']);
    }

    /** Each payout of the batch, in your order. */
    public function items(string $id, int $pageSize = 100): \Generator
    {
        $path = path('/v1/payments/disburse/batches/{id}/items', $id);
        $page = fn (array $query) => $this->client->request('GET', $path, null, $query, gives: 'items');
        return pages($page, $pageSize, [], fn ($each, $last) => $each['index'] > $last['index']);
    }

    /** The same as a file for a spreadsheet. */
    public function itemsCsv(string $id): string
    {
        $path = path('/v1/payments/disburse/batches/{id}/items', $id);
        return $this->client->request('GET', $path, null, ['format' => 'csv'], isText: true)[0];
    }

    /** Now the payouts are sent. It takes a key with payouts.approve, of somebody else than who made the batch. */
    public function approve(string $id): array
    {
        return $this->client->request('POST', path('/v1/payments/disburse/batches/{id}/approve', $id), gives: 'batch', isRepeatable: true);
    }

    /** As far as nothing was sent. */
    public function cancel(string $id): array
    {
        return $this->client->request('POST', path('/v1/payments/disburse/batches/{id}/cancel', $id), gives: 'batch', isRepeatable: true);
    }
}

/** Addresses that you send to customers, who pay on their pages. */
final class Links
{
    public function __construct(private readonly Client $client) {}

    /** Send its url to the customer. Without an amount the customer types it. */
    public function create(
        string $description, ?int $amount = null, ?int $minAmount = null, ?int $maxAmount = null, ?string $orderReference = null,
        ?bool $reusable = null, ?int $maxPayments = null, ?string $expiresAt = null, ?string $returnUrl = null,
        ?string $currency = null, ?string $idempotencyKey = null,
    ): array {
        $fields = compact('description', 'amount', 'minAmount', 'maxAmount', 'orderReference', 'reusable', 'maxPayments', 'expiresAt', 'returnUrl', 'currency');
        $key = $idempotencyKey ?? bin2hex(random_bytes(16));
        return $this->client->request('POST', '/v1/links', $fields, [], $key, 'link');
    }

    /** Its status at this moment, and what has come by it. */
    public function get(string $id): array
    {
        return $this->client->request('GET', path('/v1/links/{id}', $id), gives: 'link');
    }

    /** Every link, the newest first. */
    public function list(?string $status = null, int $pageSize = 100): \Generator
    {
        $page = fn (array $query) => $this->client->request('GET', '/v1/links', null, $query, gives: 'links');
        return pages($page, $pageSize, compact('status'), fn ($each, $last) => $each['id'] < $last['id']);
    }

    /** No new attempt begins. Money that still comes is in latePayments. */
    public function cancel(string $id): array
    {
        return $this->client->request('POST', path('/v1/links/{id}/cancel', $id), gives: 'link', isRepeatable: true);
    }
}

/** A part of the wallet that is sent to your bank account. */
final class Settlements
{
    public function __construct(private readonly Client $client) {}

    /** The amount leaves the wallet at once. Without an amount: all that can be settled. */
    public function create(
        ?int $amount = null, ?string $bankAccountId = null, ?string $orderReference = null, ?string $currency = null,
        ?string $idempotencyKey = null,
    ): array {
        $fields = compact('amount', 'bankAccountId', 'orderReference', 'currency');
        $key = $idempotencyKey ?? bin2hex(random_bytes(16));
        return $this->client->request('POST', '/v1/settlements', $fields, [], $key, 'settlement');
    }

    /** Its status at this moment, with the bank's own reference once it is known. */
    public function get(string $id): array
    {
        return $this->client->request('GET', path('/v1/settlements/{id}', $id), gives: 'settlement');
    }

    /** Every settlement, the newest first. */
    public function list(?string $status = null, int $pageSize = 100): \Generator
    {
        $page = fn (array $query) => $this->client->request('GET', '/v1/settlements', null, $query, gives: 'settlements');
        return pages($page, $pageSize, compact('status'), fn ($each, $last) => $each['id'] < $last['id']);
    }

    /** While it is in no file to the bank: the amount is in the wallet again. */
    public function cancel(string $id): array
    {
        return $this->client->request('POST', path('/v1/settlements/{id}/cancel', $id), gives: 'settlement', isRepeatable: true);
    }

    /** What the settlement consists of, in sums that add up to it. */
    public function report(string $id): array
    {
        return $this->client->request('GET', path('/v1/settlements/{id}/report', $id), null, ['limit' => 1], gives: 'report');
    }

    /** Each line of the report, the newest first. */
    public function reportEntries(string $id, int $pageSize = 100): \Generator
    {
        $path = path('/v1/settlements/{id}/report', $id);
        $page = fn (array $query) => $this->client->request('GET', $path, null, $query, gives: 'entries');
        return pages($page, $pageSize, [], fn ($each, $last) => $each['line'] < $last['line']);
    }

    /** The lines of the report as a file for a spreadsheet. */
    public function reportCsv(string $id): string
    {
        return $this->client->request('GET', path('/v1/settlements/{id}/report', $id), null, ['format' => 'csv'], isText: true)[0];
    }
}

final class Wallet
{
    public function __construct(private readonly Client $client) {}

    public function get(): array
    {
        return $this->client->request('GET', '/v1/wallet', gives: 'wallet');
    }

    /** Each line of the statement, the newest first. The filters are those of GET /v1/wallet/entries: from, to, kind. */
    public function entries(int $pageSize = 100, string ...$filters): \Generator
    {
        $page = fn (array $query) => $this->client->request('GET', '/v1/wallet/entries', null, $query, gives: 'entries');
        return pages($page, $pageSize, $filters, fn ($each, $last) => $each['line'] < $last['line']);
    }

    /** The same as a file for a spreadsheet. */
    public function entriesCsv(string ...$filters): string
    {
        return $this->client->request('GET', '/v1/wallet/entries', null, ['format' => 'csv'] + $filters, isText: true)[0];
    }
}

final class Channels
{
    public function __construct(private readonly Client $client) {}

    /** The networks. With a phone, one of them may be suggested. */
    public function list(?string $phone = null): array
    {
        return $this->client->request('GET', '/v1/channels', null, compact('phone'), gives: 'channels');
    }
}

final class Recipients
{
    public function __construct(private readonly Client $client) {}

    /** Whose number it is, before money is sent. */
    public function lookUp(string $channel, string $phone): array
    {
        $asked = compact('channel', 'phone');
        return $this->client->request('POST', '/v1/recipients/lookup', $asked, gives: 'recipient', isRepeatable: true);
    }
}

/** What became of your payments, in one order and without gaps. */
final class Events
{
    private const LONGEST_WAIT_SECONDS = 25;

    public function __construct(private readonly Client $client) {}

    /**
     * One page, the oldest first: its events, and next, the cursor to read on after. after: 'latest' has no events, and the
     * cursor at the end. types are the only events to read, or '*' for every one: batch.completed, link.… and settlement.… come only then.
     */
    public function read(?string $after = null, int $limit = 100, int $wait = 0, array|string|null $types = null): array
    {
        $query = compact('after', 'limit', 'wait', 'types');
        return $this->client->request('GET', '/v1/events', null, $query, null, null, true, $wait);
    }

    /** Page after page, for ever. Do the work of each, and store its next in the same transaction: nothing is lost. */
    public function follow(?string $after = null, int $pageSize = 100, array|string|null $types = null): \Generator
    {
        while (true) {
            $page = $this->read($after, $pageSize, self::LONGEST_WAIT_SECONDS, $types);
            $after = $page['next'];
            if ($page['events'] !== []) {
                yield $page;
            }
        }
    }
}

/** Where you want to be told. The key needs webhooks.manage. To believe what arrives there: Client::verifyWebhook. */
final class Webhooks
{
    public function __construct(private readonly Client $client) {}

    /** The answer has the secret, only this once. */
    public function create(string $url, array $events): array
    {
        return $this->client->request('POST', '/v1/webhooks', compact('url', 'events'), gives: 'endpoint');
    }

    public function get(string $id): array
    {
        return $this->client->request('GET', path('/v1/webhooks/{id}', $id), gives: 'endpoint');
    }

    public function list(): array
    {
        return $this->client->request('GET', '/v1/webhooks', gives: 'endpoints');
    }

    /** What is left out stays as it is. */
    public function change(string $id, ?string $url = null, ?array $events = null, ?bool $isActive = null): array
    {
        $change = compact('url', 'events', 'isActive');
        return $this->client->request('PATCH', path('/v1/webhooks/{id}', $id), $change, gives: 'endpoint', isRepeatable: true);
    }

    public function delete(string $id): void
    {
        $this->client->request('DELETE', path('/v1/webhooks/{id}', $id));
    }

    /** Sends a webhook.test, and gives what your server answered. */
    public function test(string $id): array
    {
        return $this->client->request('POST', path('/v1/webhooks/{id}/test', $id), gives: 'delivery');
    }

    /** A new secret, only this once. For 24 hours both sign. */
    public function rotateSecret(string $id): array
    {
        return $this->client->request('POST', path('/v1/webhooks/{id}/rotate-secret', $id), gives: 'endpoint');
    }

    public function finishRotation(string $id): array
    {
        return $this->client->request('POST', path('/v1/webhooks/{id}/rotate-secret/finish', $id), gives: 'endpoint');
    }

    /** What was sent there and what was answered, the newest first. */
    public function deliveries(string $id, ?string $state = null, int $pageSize = 100): \Generator
    {
        $query = ['state' => $state, 'limit' => $pageSize];
        do {
            $page = $this->client->request('GET', path('/v1/webhooks/{id}/deliveries', $id), null, $query);
            yield from $page['deliveries'];
            $query['before'] = $page['next'] ?? null;
        } while ($query['before'] !== null);
    }

    public function delivery(string $id, string $delivery): array
    {
        return $this->client->request('GET', path('/v1/webhooks/{id}/deliveries/{delivery}', $id, $delivery), gives: 'delivery');
    }

    /** Sends it once more, whatever became of it. */
    public function redeliver(string $id, string $delivery): array
    {
        $path = path('/v1/webhooks/{id}/deliveries/{delivery}/redeliver', $id, $delivery);
        return $this->client->request('POST', $path, gives: 'delivery', isRepeatable: true);
    }

    /** Sends everything since then, such as 2026-11-15T08:00:00Z, that was not accepted. How many that is. */
    public function recover(string $id, string $since): int
    {
        $path = path('/v1/webhooks/{id}/recover', $id);
        return $this->client->request('POST', $path, compact('since'), isRepeatable: true)['recovered'];
    }
}

/** A path with its ids. One that is empty, or has a slash, would lead to another route. */
function path(string $template, string ...$ids): string
{
    foreach ($ids as $id) {
        preg_match('/^[A-Za-z0-9_-]{1,64}$/D', $id) || throw new MalipoError("\"$id\" is no id.");
        $template = preg_replace('/\{\w+\}/', $id, $template, 1);
    }
    return $template;
}

/** Every page of a list. What comes in between moves the rest down by one: a page may begin with what the last one had. */
function pages(callable $read, int $limit, array $filters, callable $isAfter): \Generator
{
    $last = null;
    for ($page = 1;; $page++) {
        $items = $read(compact('page', 'limit') + $filters);
        foreach ($items as $each) {
            if ($last === null || $isAfter($each, $last)) {
                yield $last = $each;
            }
        }
        if (count($items) < $limit) {
            return;
        }
    }
}
