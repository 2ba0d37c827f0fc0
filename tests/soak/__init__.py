"""Hours of use: editors that type, cancel, reconnect and are ended, and what must hold meanwhile.

`python -m tests.soak --minutes N` starts real servers and lets people drawn at random use them, and
looks all the time at what must hold:

- every request is answered exactly once, in time, and refused only if it was taken back (`asked`);
- no suggestion touches what was typed, and none is for an older text (`asked`, `connection`);
- memory does not grow, no thread and no file stays behind (`levels`, `rest`);
- the log says nothing that was not provoked (`servers`).

`make test` runs it for some seconds, and tests that each check can fail (`test_soak_checks`).
"""
