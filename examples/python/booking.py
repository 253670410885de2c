#!/usr/bin/env python3
"""A slow and careful bot on Python's standard library: takes the turn with 202, books once, and comes back.

python3 booking.py, and LULL_RESPOND=http://127.0.0.1:9000/ for lull. LULL_URL says where lull is, HOTEL=http://… who books for real.
Newer messages, a crash of this program or of lull, an answer that gets lost: there is one booking, and one answer.
"""
import json, os, threading, time, urllib.error, urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LULL, HOTEL = os.environ.get("LULL_URL", "http://127.0.0.1:8080"), os.environ.get("HOTEL")


def call(method, url, body=None, headers={}):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json", **headers}, method=method)
    for seconds in (1, 2, 4, 8, 16, None):
        try:
            with urllib.request.urlopen(request, timeout=150) as response:
                return json.load(response)
        except OSError as error:  # lull is being restarted, or its store is away: every request here may be repeated
            if seconds is None or (isinstance(error, urllib.error.HTTPError) and error.code != 503):
                raise
            time.sleep(seconds)


def book(key):
    if HOTEL:
        return call("POST", HOTEL, {"night": "tonight"}, {"idempotency-key": key})
    print("BOOKED, idempotency key", key, flush=True)  # no hotel at hand: pretend
    return {"room": 7}


def work(turn):
    path = f"{LULL}/v1/turns/{turn['turn']['token']}"
    try:
        # Waits until the user has been quiet: what cannot be undone should not be done in the middle of a sentence.
        step = call("PUT", f"{path}/effects/book?wait=120", {"state": "begun"})
        if step["state"] == "run":
            # The same key for every try of this booking. step["inDoubt"]: it may have been made before.
            room = book(step["idempotencyKey"])
            call("PUT", f"{path}/effects/book", {"state": "done", "value": room})
        else:
            room = step["value"]  # an earlier attempt has booked: this is what it got
        call("POST", f"{path}/reply?wait=120", {"text": f"Room {room['room']} is yours."})
    except urllib.error.HTTPError as error:
        # 409: newer messages came, or the turn is over; 403: lull was restarted without a webhookSecret.
        # It is called again with everything; nothing is lost.
        print("turn", turn["fence"], "is not wanted any more:", error.code, error.read().decode(), flush=True)


class Webhook(BaseHTTPRequestHandler):
    def do_POST(self):
        turn = json.loads(self.rfile.read(int(self.headers["content-length"])))
        print("turn", turn["fence"], "attempt", turn["attempt"], "effects", json.dumps(turn["effects"]), flush=True)
        self.send_response(202)
        self.end_headers()
        threading.Thread(target=work, args=(turn,)).start()


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", 9000))), Webhook)
    print("booking.py listens on port", server.server_port, flush=True)
    server.serve_forever()
