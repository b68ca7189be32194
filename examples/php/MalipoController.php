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
    /** The order's number makes the key: however often the button is pressed, the customer is asked once. */
    public function pay(Request $request, Order $order, Client $malipo): Response
    {
        $payment = $malipo->payments->collect(
            amount: $order->amount,
            channel: $request->string('channel')->value(),
            buyerPhone: $request->string('phone')->value(),
            orderReference: (string) $order->id,
            idempotencyKey: "order-$order->id",
        );
        return response(['status' => $payment['status'], 'reference' => $payment['reference']]);
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
            $payment = $event['transaction'];
            if ($event['event'] === 'payment.completed') {
                Order::whereKey($payment['orderReference'] ?? null)
                    ->where('amount', $payment['amount'])
                    ->whereNull('paid_by')
                    ->update(['paid_by' => $payment['reference']]);
            }
        });
        return response('', 204); // Anything but 2xx, and malipo tries again.
    }
}
