<?php
// Does with the PHP client what it is told, a line at a time, and tells what came of it.
declare(strict_types=1);

require $argv[1];

function done(array $asked): mixed
{
    [$fields, $options] = [$asked['fields'], $asked['options']];
    if ($asked['call'] === 'verifyWebhook') {
        return Malipo\Client::verifyWebhook(base64_decode($fields['body']), $fields['headers'], $fields['secret'], ...array_slice($fields, 3));
    }
    if ($options['psr18'] ?? false) {
        require_once 'GuzzleHttp/autoload.php';
        $factory = new GuzzleHttp\Psr7\HttpFactory();
        $options = ['http' => new GuzzleHttp\Client(['timeout' => $options['timeout'] ?? 30]), 'requests' => $factory, 'streams' => $factory] + $options;
        unset($options['psr18']);
    }
    $client = new Malipo\Client(...$options);
    [$namespace, $method] = explode('.', $asked['call']);
    $found = $client->$namespace->$method(...($asked['id'] ?? []), ...$fields);
    if (!$found instanceof Generator) {
        return $found;
    }
    $listed = [];
    foreach ($found as $each) {
        $listed[] = $each;
        if (count($listed) === $asked['take']) {
            break;
        }
    }
    return $listed;
}

function told(Throwable $error): array
{
    $kinds = array_map(fn (string $kind) => basename(strtr($kind, '\\', '/')), [$error::class, ...array_values(class_parents($error))]);
    $fields = array_filter(get_object_vars($error), fn ($name) => $name !== 'xdebug_message', ARRAY_FILTER_USE_KEY);
    $fields['code'] = $fields['errorCode'] ?? null;
    $fields['cause'] = $error->getPrevious() ? basename(strtr($error->getPrevious()::class, '\\', '/')) : null;
    return ['kinds' => $kinds, 'message' => $error->getMessage()] + $fields;
}

while (($line = fgets(STDIN)) !== false) {
    try {
        $answer = ['value' => done(json_decode($line, true))];
    } catch (Throwable $error) {
        $answer = ['error' => told($error)];
    }
    echo json_encode($answer, JSON_THROW_ON_ERROR), "\n";
}
