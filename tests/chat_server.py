"""A scripted OpenAI-compatible chat server on 127.0.0.1: it answers what a test queued and keeps what it was asked."""

import json
import threading
from collections import deque
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Broken:
    """A reply that is not a chat completion: its status and body, or no reply at all if `hang_up`."""

    status: int = 200
    body: str = ""
    hang_up: bool = False


class ChatServer:
    """`with ChatServer("first reply", Broken(500)) as server:` answers in that order, the last one for ever after.

    `requests` holds each request's JSON body, `keys` the bearer token it came with. Every text reply reports
    `tokens_in` and `tokens_out`.
    """

    def __init__(self, *replies, tokens_in=11, tokens_out=3):
        self.replies, self.requests, self.keys = deque(replies), [], []
        self.tokens_in, self.tokens_out = tokens_in, tokens_out

    @property
    def url(self):
        """What stands before the `#` of a model's name."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def model(self, name="scripted"):
        """The name under which `graph.models.chat_model` finds this server."""
        return f"{self.url}#{name}"

    def __enter__(self):
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()

    def next_reply(self):
        """The next queued reply; the last one stays."""
        return self.replies.popleft() if len(self.replies) > 1 else self.replies[0]


class _Server(ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        """A client that went away is no fault, and the next test's standard error is not the place to say so."""


def _handler(chat):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            chat.requests.append(json.loads(body) | {"path": self.path})
            chat.keys.append(self.headers.get("Authorization", "").removeprefix("Bearer "))
            reply = chat.next_reply()
            if isinstance(reply, str):
                reply = Broken(body=_completion(reply, chat))
            if reply.hang_up:
                self.close_connection = True
                return
            sent = reply.body.encode()
            self.send_response(reply.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, *_):
            pass

    return Handler


def _completion(text, chat):
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    total = chat.tokens_in + chat.tokens_out
    usage = {"prompt_tokens": chat.tokens_in, "completion_tokens": chat.tokens_out, "total_tokens": total}
    answer = {"id": "1", "object": "chat.completion", "created": 0, "model": "scripted", "choices": [choice]}
    return json.dumps(answer | {"usage": usage})
