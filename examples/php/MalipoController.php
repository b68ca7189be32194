<?php
// For Laravel: app/Http/Controllers/MalipoController.php, with Malipo.php in "autoload": {"classmap": […]}.
// Your malipo gives it out: https://pay.example.com/docs/downloads/Malipo.php
//
// routes/api.php:        Route::post('/hooks/malipo', [MalipoController::class, 'webhook']);
//                        Route::post('/orders/{order}/pay', [MalipoController::class, 'pay']);
// AppServiceProvider:    $this->app->singleton(Client::class, fn () => new Client(config('services.malipo.key'), config('services.malipo.url')));
namespace App\Http\Controllers;

use App\Models\Order;
use Illuminate\Http\Request;
use Illuminate\Http\Response;
use Illuminate\Support\Facades\DB;
use Malipo\Client;
use Malipo\InvalidWebhook;

final class MalipoController extends Controller
{
    /**
     * However often the button is pressed, the customer is asked once. Only when the last attempt has failed is there another one,
     * with another key: to ask again while a payment is under way may make the customer pay twice. Columns of an order: amount,
     * attempt (0), phone, channel, payment_status, paid_by.
     */
    public function pay(Request $request, Order $order, Client $malipo): Response
    {
        $order = DB::transaction(function () use ($request, $order): Order {
            $order = Order::whereKey($order->id)->lockForUpdate()->firstOrFail();
            abort_if($order->paid_by !== null, 409, 'It is paid.');
            if (in_array($order->payment_status, [null, 'FAILED', 'CANCELLED'], true)) {
                $order->update([
                    'attempt' => $order->attempt + 1,
                    'phone' => $request->string('phone')->value(),
                    'channel' => $request->string('channel')->value(),
                    'payment_status' => 'PENDING',
                ]);
            }
            return $order;
        });
        $payment = $malipo->payments->collect(
            amount: $order->amount,
            channel: $order->channel,
            buyerPhone: $order->phone,
            orderReference: (string) $order->id,
            metadata: ['attempt' => $order->attempt],
            idempotencyKey: "order-$order->id-$order->attempt",
        );
        return response(['status' => $payment['currentStatus'], 'reference' => $payment['reference']]);
    }

    public function webhook(Request $request): Response
    {
        try {
            $secret = config('services.malipo.webhook_secret');
            $event = Client::verifyWebhook($request->getContent(), $request->headers->all(), $secret);
        } catch (InvalidWebhook $error) {
            return response($error->getMessage(), $error->status);
        }
        DB::transaction(function () use ($event) {
            // The event's id and the work are one transaction, so that it is worked on once.
            if (!DB::table('malipo_events')->insertOrIgnore(['id' => $event['id']])) {
                return;
            }
            $this->take($event['event'], $event['transaction'] ?? []); // An event of a batch has none.
        });
        return response('', 204); // Anything but 2xx, and malipo tries again.
    }

    /** Also for events of the feed, GET /v1/events: read it every minute for what no webhook has told (shop.php shows how). */
    private function take(string $event, array $payment): void
    {
        $order = Order::whereKey($payment['orderReference'] ?? null)->lockForUpdate()->first();
        if ($order === null || !str_starts_with($event, 'payment.')) {
            return; // A payout is not a sale.
        }
        // A correction says what has become of a payment after its end: a failed one may have been paid after all.
        $status = $payment['correction']['outcome'] ?? $payment['status'];
        $isLast = ($payment['metadata']['attempt'] ?? 0) === $order->attempt;
        if ($isLast && in_array($order->payment_status, ['PENDING', 'PROCESSING'], true)) {
            $order->update(['payment_status' => $payment['status']]);
        }
        if ($status === 'COMPLETED' && $order->paid_by === null && $order->amount === $payment['amount']) {
            $order->update(['paid_by' => $payment['reference']]);
        } elseif (($status === 'COMPLETED') !== ($order->paid_by === $payment['reference']) && !in_array($status, ['PENDING', 'PROCESSING'], true)) {
            // Paid twice, with another amount, or taken back by its network: somebody must look, and refund or ask the customer.
            logger()->alert('malipo: please look', ['order' => $order->id, 'payment' => $payment['reference'], 'status' => $status]);
        }
    }
}
