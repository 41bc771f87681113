"""Receives events of durable-payouts: verifies each signature, stores each event once, then answers.

    EVENTS_SECRET=whsec_… python receive_events.py [port]

docs/events.md says what an event contains.
"""

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from standardwebhooks import Webhook, WebhookVerificationError

MAX_BODY = 1_000_000

webhook = Webhook(os.environ["EVENTS_SECRET"])
# A real receiver stores ids and events in its database, in one transaction.
stored: dict[str, dict] = {}


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        length = int(self.headers.get("content-length", "0"))
        if length > MAX_BODY:
            self.answer(413)
            return
        body = self.rfile.read(length)
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            event = webhook.verify(body, headers)
        except WebhookVerificationError:
            self.answer(401)
            return
        event_id = headers["webhook-id"]
        # The same event may arrive twice.
        if event_id not in stored:
            stored[event_id] = event
            print(json.dumps({"id": event_id, **event}), flush=True)
        self.answer(204)

    def answer(self, status: int) -> None:
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Prints events only."""


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8090
    server = ThreadingHTTPServer(("127.0.0.1", port), Receiver)
    print(f"listening on {server.server_port}", flush=True)
    server.serve_forever()
