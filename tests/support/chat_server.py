"""A scripted OpenAI-compatible chat server on 127.0.0.1: it answers what a test queued and keeps what it was asked."""

import json
import threading
import time
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler

from support.loopback_server import LoopbackServer

SCRIPTED = {"id": "scripted", "object": "model", "max_model_len": 16384}


@dataclass(frozen=True)
class Broken:
    """A reply that is not a chat completion: its status, headers and body, or no reply at all if `hang_up`."""

    status: int = 200
    body: str = ""
    hang_up: bool = False
    headers: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Half:
    """A reply that begins and then stalls until the server ends, hangs up, or goes on word by word with a `pause`."""

    text: str
    then: str = "stall"
    pause: float = 0.0
    finish: str = "stop"
    """Its finish reason, if it goes on to its end."""


@dataclass(frozen=True)
class Refusal:
    """What a hosted model says instead of a reply, in a field of its own."""

    text: str


class ChatServer:
    """`with ChatServer("first reply", Broken(500)) as server:` answers in that order, the last one for ever after.

    A reply may be a function of the request. `requests` holds each request's JSON body, `keys` the bearer token it came
    with, `keys_of_lists` those of the questions for its models. Every text reply reports `tokens_in` and `tokens_out`,
    and streams word by word where that is asked for.
    `models` is what it lists; `tells` maps the path of any other question to its answer, or to a function of the
    question; the rest is not found. `schemas` are the forms of a schema that it takes; `refusal` is how it refuses the
    others. With `usage=False` its streams report no tokens. It listens at a free port, or at `port`.
    """

    def __init__(
        self,
        *replies,
        tokens_in=11,
        tokens_out=3,
        models=(SCRIPTED,),
        tells=None,
        schemas=("json_schema", "json_object"),
        refusal=Broken(400, '{"error": {"message": "response_format is not supported"}}'),
        usage=True,
        port=0,
    ):
        self.replies, self.requests, self.keys, self.keys_of_lists = deque(replies), [], [], []
        self.tokens_in, self.tokens_out = tokens_in, tokens_out
        self.models, self.tells = list(models), tells or {}
        self.schemas, self.refusal, self.usage, self.port = schemas, refusal, usage, port
        self.at_once, self.most_at_once = 0, 0
        """How many chats it is answering now, and the most that there were."""
        self.ended, self._counting = threading.Event(), threading.Lock()
        self.left = threading.Event()
        """Set once a client went away in the middle of a reply."""

    @property
    def url(self):
        """What stands before the `#` of a model's name."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def model(self, name="scripted"):
        """The name under which `graph.models.chat_model` finds this server."""
        return f"{self.url}#{name}"

    def __enter__(self):
        self._server = _Server(self)
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self._server.shutdown()
        self._server.server_close()

    @contextmanager
    def answering(self):
        """Count the chats that are answered at once."""
        with self._counting:
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            yield
        finally:
            with self._counting:
                self.at_once -= 1

    def next_reply(self, request):
        """The next queued reply; the last one stays."""
        reply = self.replies.popleft() if len(self.replies) > 1 else self.replies[0]
        if "response_format" in request and request["response_format"]["type"] not in self.schemas:
            return self.refusal
        return reply(request) if callable(reply) else reply


class _Server(LoopbackServer):
    def __init__(self, chat):
        super().__init__(("127.0.0.1", chat.port), _Handler)
        self.chat = chat


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.chat.keys_of_lists.append(self.headers.get("Authorization", "").removeprefix("Bearer "))
        listed = {"object": "list", "data": self.server.chat.models}
        self.tell({"/v1/models": listed} | self.server.chat.tells)

    def tell(self, answers, question=None):
        answer = answers.get(self.path)
        answer = answer(question) if callable(answer) else answer
        self.send_whole(Broken(404, "{}") if answer is None else Broken(body=json.dumps(answer)))

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/v1/chat/completions":
            self.tell(self.server.chat.tells, body)
            return
        with self.server.chat.answering():
            self.answer(body)

    def answer(self, body):
        self.server.chat.keys.append(self.headers.get("Authorization", "").removeprefix("Bearer "))
        self.server.chat.requests.append(body | {"path": self.path})
        reply = self.server.chat.next_reply(body)
        if isinstance(reply, Broken):
            self.send_whole(reply)
        elif body.get("stream"):
            self.send_stream(reply)
        else:
            self.send_whole(Broken(body=_completion(reply, self.server.chat)))

    def send_whole(self, reply):
        if reply.hang_up:
            self.close_connection = True
            return
        sent = reply.body.encode()
        self.send_response(reply.status)
        for name, value in {"Content-Type": "application/json", **reply.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def send_stream(self, reply):
        """Events as a server sends them; the connection's end is the end of the reply."""
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        half = reply if isinstance(reply, Half) else Half(getattr(reply, "text", reply), "end")
        said = "refusal" if isinstance(reply, Refusal) else "content"
        try:
            for n, word in enumerate(half.text.split(" ")):
                self.event({"delta": {said: (" " if n else "") + word}})
                time.sleep(half.pause)
            if half.then == "stall":
                self.server.chat.ended.wait(30)
            if half.then == "end":
                self.event({"delta": {}, "finish_reason": half.finish})
                if self.server.chat.usage:
                    self.event(None)
                self.wfile.write(b"data: [DONE]\n\n")
        except OSError:
            self.server.chat.left.set()

    def event(self, choice):
        usage = None if choice else _usage(self.server.chat)
        held = {
            "id": "1",
            "object": "chat.completion.chunk",
            "created": 0,
            "model": "scripted",
            "usage": usage,
        }
        held["choices"] = [{"index": 0, "finish_reason": None} | choice] if choice else []
        self.wfile.write(f"data: {json.dumps(held)}\n\n".encode())
        self.wfile.flush()

    def log_message(self, *_):
        pass


def _completion(text, chat):
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    answer = {"id": "1", "object": "chat.completion", "created": 0, "model": "scripted", "choices": [choice]}
    return json.dumps(answer | {"usage": _usage(chat)})


def _usage(chat):
    total = chat.tokens_in + chat.tokens_out
    return {"prompt_tokens": chat.tokens_in, "completion_tokens": chat.tokens_out, "total_tokens": total}
