#!/usr/bin/env python3
"""A bot on Python's standard library. LULL_WEBHOOK_SECRET=whsec_… python3 bot.py, and LULL_RESPOND=http://127.0.0.1:9000/ for lull."""
import base64, hashlib, hmac, json, os, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

GIVEN = os.environ.get("LULL_WEBHOOK_SECRET") or sys.exit("Set LULL_WEBHOOK_SECRET, the same for lull: `npx lull secret` makes one.")
SECRET = base64.b64decode(GIVEN.removeprefix("whsec_"))


def answer(turn):  # your bot: everything the user has written since the last answer, in one go
    parts = [part for message in turn["messages"] for part in message["parts"]]
    return {"text": "You wrote: " + " / ".join(part.get("text", "(a file)") for part in parts)}


def is_ours(headers, body):  # Standard Webhooks: signed by lull, not older than five minutes
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    mac = "v1," + base64.b64encode(hmac.new(SECRET, signed, hashlib.sha256).digest()).decode()
    is_fresh = abs(time.time() - int(headers.get("webhook-timestamp", 0))) < 300
    return is_fresh and any(hmac.compare_digest(mac, given) for given in headers["webhook-signature"].split())


class Webhook(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        ours = is_ours(self.headers, body)
        self.send_response(200 if ours else 401)
        self.end_headers()
        self.wfile.write(json.dumps(answer(json.loads(body)) if ours else {}).encode())


print("bot.py listens on port", (server := ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", 9000))), Webhook)).server_port, flush=True)
server.serve_forever()
