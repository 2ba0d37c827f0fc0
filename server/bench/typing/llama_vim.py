"""llama.vim and llama-server as somebody who types meets them: the peer of `midtoken bench typing`.

What the plugin does is that of `autoload/llama.vim` in llama.vim 0.1.0 (Debian's `vim-llama.cpp`
0.1.0-1) with its default settings, in Neovim: `s:on_move`, `llama#fim`, `s:fim_on_response`,
`s:ring_update` and the autocommands; llama.vscode is another program and not imitated. In short:

- After every move of the cursor the memory is looked up, and what is found is shown at once.
- There is one request at a time, and it is never cancelled; the newest wish is tried again every
  100 ms until its turn has come. A request writes for 250 ms at most.
- What is shown is continued ahead of time, as if it were accepted, for 1000 ms at most.
- An answer is remembered, and shown if it fits where the cursor is by then.
- No request where more than 8 bytes stand right of the cursor.
- Chunks of text are gathered when a file is entered and when the cursor has gone far, and taken in
  (and read by the model) when nothing was typed for 3 s.

The person stays in insert mode and saves nothing: no chunks are taken in on the way to another
file, which would cost reading. curl's start, some milliseconds a request, is not imitated.

The server's settings are those that the plugin's help recommends (`server_parameters`).
"""

import asyncio
import random
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from server.bench.llama_server import NAME, post
from server.bench.typing.llama_context import (
    CHUNK_LINES,
    FAR_LINES,
    N_PREFIX,
    N_SUFFIX,
    RING_SCOPE,
    Ring,
    line_at,
    local_context,
)
from server.bench.typing.llama_hints import Completions, Hint, hint_of, keys_of
from server.bench.typing.suggesters import Offer, Usage, cpu_seconds, memory_of
from server.errors import EngineError
from server.positions import Encoding, Position, Range

CONTEXT_TOKENS = 8192

AGAIN_S = 0.1
ENTERED_S = 0.1
RING_UPDATE_S, STILL_S = 1.0, 3.0
QUICK_MS, AHEAD_MS, PROMPT_MS = 250, 1000, 500
N_PREDICT = 128
MOST_RIGHT_BYTES = 8

TIMINGS = (
    *("timings/prompt_n", "timings/prompt_ms", "timings/prompt_per_token_ms"),
    *("timings/prompt_per_second", "timings/predicted_n", "timings/predicted_ms"),
    *("timings/predicted_per_token_ms", "timings/predicted_per_second"),
)


def server_parameters(batch: int) -> dict[str, object]:
    """How the server is started, as `:help llama` recommends it.

    There it is `--ctx-size 0 --batch-size 1024 --ubatch-size 512 --cache-reuse 256`. A context as
    large as the model's (0) would only take memory. Flash attention is as llama.cpp chooses it.

    Args:
        batch: `--batch-size`: the server cuts the text around the cursor to so many tokens. The
            help has 512 as the least; less is sooner read.
    """
    ubatch = min(batch, 512)
    return {"n_ctx": CONTEXT_TOKENS, "n_batch": batch, "n_ubatch": ubatch, "n_cache_reuse": 256}


class Process(Protocol):
    """A llama-server that runs."""

    address: str

    @property
    def process_id(self) -> int:
        """The process."""


class LlamaVim:
    """The plugin in an editor. All methods belong to one event loop."""

    name = NAME
    encoding = Encoding.UTF32

    def __init__(self, server: Process) -> None:
        """Use a server that has its model."""
        self.answers: dict[str, int] = {}
        self.errors: list[str] = []
        self._server = server
        self._loop = asyncio.get_running_loop()
        self._show: Callable[[Offer | None], None] = lambda _: None
        self._files: dict[str, list[str]] = {}
        self._changed: set[str] = set()
        self._uri, self._x, self._y = "", 0, 0
        self._known = Completions()
        self._ring = Ring(random.Random(0))  # noqa: S311
        self._picked_at = -9999
        self._indent = -1
        self._hint: Hint | None = None
        self._job: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._others: set[asyncio.Task[None]] = set()
        self._moved = self._loop.time()
        self._ticking = self._loop.call_later(RING_UPDATE_S, self._update_ring)
        self._tokens = 0
        self._counts = {"prompt_tokens": 0, "written_tokens": 0, "prompt_ms": 0.0}

    def listen(self, show: Callable[[Offer | None], None]) -> None:  # noqa: D102
        self._show = show

    def open(self, uri: str, language: str, text: str) -> None:  # noqa: D102, ARG002
        self._files[uri] = _lines(text)
        self._changed.discard(uri)

    def change(self, uri: str, where: Range, text: str) -> None:  # noqa: D102
        lines = self._files[uri]
        start, end = where.start, where.end
        before = line_at(lines, start.line)[: start.character]
        after = line_at(lines, end.line)[end.character :]
        lines[start.line : end.line + 1] = (before + text + after).split("\n")
        self._changed.add(uri)

    def close_document(self, uri: str) -> None:  # noqa: D102
        del self._files[uri]
        if uri == self._uri:
            self._uri = ""

    def ask(self, uri: str, position: Position) -> None:
        """The cursor has moved (`CursorMovedI`)."""
        if uri != self._uri:
            self._leave_and_enter(uri)
        self._x, self._y = position.character, position.line
        self._moved = self._loop.time()
        self._hint = None
        if not self._try_hint():
            self._show(None)
        self._request()

    @property
    def owes(self) -> bool:
        """Whether a request runs or waits for its turn."""
        return self._job is not None or self._timer is not None

    async def usage(self) -> Usage:
        """What the answers and the process say.

        Tokens are those that were read (`prompt_n`, without what the server still knew) or written.
        """
        process = self._server.process_id
        return Usage(self._tokens, cpu_seconds(process), memory_of(process), dict(self._counts))

    async def finish(self, timeout_s: float) -> int:
        """Wait for the requests that run; none is made any more until the next key."""
        self._stop_timer()
        running = {*self._others, *([self._job] if self._job else [])}
        if not running:
            return 0
        _, late = await asyncio.wait(running, timeout=timeout_s)
        self._stop_timer()  # an answer may have begun to wait for the next turn
        return len(late)

    def close(self) -> None:
        """Make no more requests."""
        self._stop_timer()
        self._ticking.cancel()

    @property
    def _here(self) -> list[str]:
        """The file that the cursor is in."""
        return self._files.get(self._uri, [""])

    def _around(self) -> Sequence[str]:
        half = CHUNK_LINES // 2
        return self._here[max(0, self._y - half) : self._y + half + 1]

    def _leave_and_enter(self, uri: str) -> None:
        """`BufLeave` and `BufEnter`: chunks of files that are on the disk as they are here."""
        self._pick_around()
        self._uri = uri
        self._loop.call_later(ENTERED_S, self._pick_around)

    def _pick_around(self) -> None:
        if self._uri and self._uri not in self._changed:
            self._ring.pick(self._around(), self._uri, evict=True)

    def _try_hint(self) -> bool:
        """Show what is known of this place, and begin what comes after it; whether there was."""
        x, y = self._x, self._y
        content = self._known.find(local_context(self._here, x, y))
        if content is None:
            return False
        hint = self._hint = hint_of(self._here, x, y, content)
        self._show(hint.offer if hint.visible else None)
        self._request(hint.lines, (x, y))
        return True

    def _request(self, previous: tuple[str, ...] = (), at: tuple[int, int] | None = None) -> None:
        """`llama#fim`: ask for a completion at a place, or try again later.

        Args:
            previous: A suggestion that is taken for accepted.
            at: The place; None for where the cursor is when the turn comes.
        """
        if self._job is not None:
            self._stop_timer()
            self._timer = self._loop.call_later(AGAIN_S, self._request_again, previous, at)
            return
        x, y = at or (self._x, self._y)
        context = local_context(self._here, x, y, previous, self._indent)
        right = context.suffix.partition("\n")[0]
        if len(right.encode()) > MOST_RIGHT_BYTES:
            return
        keys = keys_of(context)
        if any(self._known.get(key) is not None for key in keys):
            return
        self._indent = context.indent
        self._ring.drop_similar(self._around())
        body = {
            "id_slot": 0,
            "input_prefix": context.prefix,
            "input_suffix": context.suffix,
            "input_extra": self._extra(),
            "prompt": context.middle,
            "n_predict": N_PREDICT,
            "stop": [],
            "n_cmpl": 1,
            "n_indent": context.indent,
            "top_k": 40,
            "top_p": 0.90,
            "samplers": ["top_k", "top_p", "infill"],
            "stream": False,
            "cache_prompt": True,
            "t_max_prompt_ms": PROMPT_MS,
            "t_max_predict_ms": AHEAD_MS if previous else QUICK_MS,
            "response_fields": ["content", *TIMINGS, "truncated", "tokens_cached"],
        }
        self._job = self._loop.create_task(self._complete(body, keys, ahead=bool(previous)))
        if abs(y - self._picked_at) > FAR_LINES:
            self._gather(y)

    def _request_again(self, previous: tuple[str, ...], at: tuple[int, int] | None) -> None:
        self._timer = None
        self._request(previous, at)

    async def _complete(self, body: dict[str, Any], keys: Sequence[str], *, ahead: bool) -> None:
        try:
            answer = await self._post(body)
            self._count("ahead" if ahead else "completions")
            self._known.insert(keys, str(answer["content"]))
            if self._hint is None or not self._hint.acceptable:
                self._try_hint()
        except EngineError as error:
            self._count("error")
            self.errors.append(str(error))
        finally:
            self._job = None

    def _gather(self, y: int) -> None:
        """Queue chunks of what the prefix and the suffix do not reach."""
        lines, last = self._here, len(self._here) - 1
        above = lines[max(0, y - RING_SCOPE) : max(0, y - N_PREFIX) + 1]
        below = min(last, y + N_SUFFIX)
        self._ring.pick(above, self._uri, evict=False)
        self._ring.pick(lines[below : below + CHUNK_LINES + 1], self._uri, evict=False)
        self._picked_at = y

    def _update_ring(self) -> None:
        """`s:ring_update`: take a chunk in, and have the model read it."""
        self._ticking = self._loop.call_later(RING_UPDATE_S, self._update_ring)
        if self._loop.time() - self._moved < STILL_S or not self._ring.take_in():
            return
        body = {
            "id_slot": 0,
            "input_prefix": "",
            "input_suffix": "",
            "input_extra": self._extra(),
            "prompt": "",
            "n_predict": 0,
            "temperature": 0.0,
            "samplers": [],
            "stream": False,
            "cache_prompt": True,
            "t_max_prompt_ms": 1,
            "t_max_predict_ms": 1,
            "response_fields": list(TIMINGS),  # llama.vim wants none; these count the tokens
        }
        task = self._loop.create_task(self._read(body))
        self._others.add(task)
        task.add_done_callback(self._others.discard)

    async def _read(self, body: dict[str, Any]) -> None:
        try:
            await self._post(body)
            self._count("chunks")
        except EngineError as error:
            self._count("error")
            self.errors.append(str(error))

    async def _post(self, body: dict[str, Any]) -> dict[str, Any]:
        """Ask the server, and count what it has done."""
        answer = await asyncio.to_thread(post, self._server.address, "/infill", body)
        read, written = (int(answer.get(f"timings/{name}_n") or 0) for name in _PARTS)
        self._tokens += read + written
        self._counts["prompt_tokens"] += read
        self._counts["written_tokens"] += written
        self._counts["prompt_ms"] += float(answer.get("timings/prompt_ms") or 0.0)
        return answer

    def _extra(self) -> list[dict[str, object]]:
        return [{"text": chunk.text, "filename": chunk.file} for chunk in self._ring.chunks]

    def _count(self, kind: str) -> None:
        self.answers[kind] = self.answers.get(kind, 0) + 1

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


_PARTS = ("prompt", "predicted")


def _lines(text: str) -> list[str]:
    """A file's lines as Vim counts them: the end of the last one begins no other."""
    return text.removesuffix("\n").split("\n")
