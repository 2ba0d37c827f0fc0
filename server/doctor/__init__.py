"""`midtoken doctor`: is everything there, does it work, and how fast is it?

Every check is a function that yields findings (`finding`). `build` looks at the installation, `cpu`
at what the processor can, `first_run` lets a process of its own try the model (`probe`), `model`
and `trials` run it here, `places` looks at folders and memory, `editors` at set-ups, `languages` at
grammars. `command` puts them in order and prints them.

What is not here: repairing anything, and opening a connection (but for `--yes`, which fetches a
model).
"""
