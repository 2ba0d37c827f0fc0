"""A stand-in for llama-server: what llama.vim asks it is kept, what it answers is the test's."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TIMINGS = {"timings/prompt_n": 10, "timings/prompt_ms": 5.0, "timings/predicted_n": 3}


class FakeServer:
    """Answers `/infill` with the texts that it is given, in their order, then with nothing."""

    def __init__(self):
        self.process_id = 0
        self.asked = []
        self.answers = []
        self.go = threading.Event()
        self.go.set()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.asked.append(body)
                content = outer.answer(body)
                outer.go.wait(10)
                self.send_response(500 if content is None else 200)
                self.end_headers()
                answer = {"content": content, **TIMINGS}
                self.wfile.write(json.dumps(answer, separators=(",", ":")).encode())

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def answer(self, body):
        """The next text."""
        return self.answers.pop(0) if self.answers else ""

    def close(self):
        self.go.set()
        self._server.shutdown()
        self._server.server_close()

    @property
    def prompts(self):
        """What stood before the cursor on its line, and how long it might take."""
        return [(body["prompt"], body["t_max_predict_ms"]) for body in self.asked]
