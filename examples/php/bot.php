<?php
// A bot in plain PHP 8, without a library: LULL_WEBHOOK_SECRET=whsec_… php -S 127.0.0.1:9000 bot.php,
// and LULL_RESPOND=http://127.0.0.1:9000/ for lull. Under Apache or FPM it runs as it is.

$given = getenv('LULL_WEBHOOK_SECRET') ?: exit('Set LULL_WEBHOOK_SECRET, the same for lull: `npx lull secret` makes one.');
$secret = base64_decode(substr($given, strlen('whsec_')));

/** Your bot: everything the user has written since the last answer, in one go. */
function answer(array $turn): array
{
    $parts = array_merge(...array_column($turn['messages'], 'parts'));
    $texts = array_map(fn ($part) => $part['text'] ?? '(a file)', $parts);
    return ['text' => 'You wrote: ' . implode(' / ', $texts)];
}

/** Standard Webhooks: signed by lull, not older than five minutes. */
function is_ours(string $body, string $secret): bool
{
    $header = fn (string $name) => $_SERVER["HTTP_WEBHOOK_$name"] ?? '';
    $signed = $header('ID') . '.' . $header('TIMESTAMP') . '.' . $body;
    $mac = 'v1,' . base64_encode(hash_hmac('sha256', $signed, $secret, true));
    $fits = array_filter(explode(' ', $header('SIGNATURE')), fn ($one) => hash_equals($mac, $one));
    return $fits !== [] && abs(time() - (int) $header('TIMESTAMP')) < 300;
}

$body = file_get_contents('php://input');
$ours = is_ours($body, $secret);
http_response_code($ours ? 200 : 401);
header('content-type: application/json');
echo json_encode($ours ? answer(json_decode($body, true)) : new stdClass(), JSON_UNESCAPED_UNICODE | JSON_INVALID_UTF8_SUBSTITUTE);
