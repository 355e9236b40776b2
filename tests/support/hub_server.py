"""A small Hugging Face hub on 127.0.0.1: one dataset repository, and a second host that its files are kept on."""

import hashlib
import json
import re
import threading
from collections import deque
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs

from support.loopback_server import LoopbackServer


class Hub:
    """`with Hub("owner/name", {"a.json": b"..."}) as hub:` serves these files at `hub.url`.

    What a test may set: `refusal` (status, error code) for every request; `cuts`, how many bytes each of the next
    downloads sends before it breaks off; `ranges` False, to ignore what part is asked for; `sent`, other content
    than was announced; `announced`, another size than the true one; `small`, files without LFS; `gate`, an event that
    is waited for when half is sent. `asked` holds the range and the token of each request to the second host.
    """

    def __init__(self, repo, files):
        self.repo, self.files, self.sent = repo, files, dict(files)
        self.refusal, self.cuts, self.ranges, self.announced, self.small = None, deque(), True, {}, set()
        self.asked, self.tokens, self.gate = [], [], None

    def __enter__(self):
        self._store = _serve(_store(self))
        self._hub = _serve(_hub(self))
        self.url = f"http://127.0.0.1:{self._hub.server_port}"
        self.store_url = f"http://127.0.0.1:{self._store.server_port}"
        return self

    def __exit__(self, *_):
        for server in (self._hub, self._store):
            server.shutdown()
            server.server_close()

    def info(self, path):
        """What the hub says of a file."""
        content = self.files[path]
        size = self.announced.get(path, len(content))
        said = {"type": "file", "path": path, "size": size}
        if path in self.small:
            return said | {"oid": hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()}
        lfs = {"oid": hashlib.sha256(content).hexdigest(), "size": size, "pointerSize": 130}
        return said | {"oid": "0" * 40, "lfs": lfs}


def _serve(handler):
    server = LoopbackServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    return server


class _Quiet(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, content=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


def _hub(hub):
    class Handler(_Quiet):
        def do_POST(self):
            asked = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            if self.path != f"/api/datasets/{hub.repo}/paths-info/main":
                return self.answer(401, X_Error_Code="RepoNotFound")
            said = json.dumps([hub.info(path) for path in asked["paths"] if path in hub.files])
            return self.answer(200, said.encode(), Content_Type="application/json")

        def do_GET(self):
            hub.tokens.append(self.headers.get("Authorization"))
            if hub.refusal:
                return self.answer(hub.refusal[0], X_Error_Code=hub.refusal[1])
            name = self.path.removeprefix(f"/datasets/{hub.repo}/resolve/main/")
            return self.answer(302, Location=f"{hub.store_url}/{name}")

    return Handler


def _store(hub):
    class Handler(_Quiet):
        def do_GET(self):
            hub.asked.append((self.headers.get("Range"), self.headers.get("Authorization")))
            content, status = hub.sent[self.path.removeprefix("/")], 200
            start = int(re.match(r"bytes=(\d+)-", self.headers.get("Range", "bytes=0-"))[1])
            if hub.ranges:
                content, status = content[start:], 206
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            cut = hub.cuts.popleft() if hub.cuts else len(content)
            half = cut // 2 if hub.gate else cut
            self.wfile.write(content[:half])
            if hub.gate:
                hub.gate.wait(30)
                self.wfile.write(content[half:cut])
            self.close_connection = cut < len(content)

    return Handler
