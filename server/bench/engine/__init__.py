"""`midtoken bench engine`: how far from what the machine can do?

One thing a file: the model's own speed against a bare loop (`throughput`, `llama_bench`), what our
part of a step costs (`steps`, with the `watch`), several tokens in one batch (`batches`), memory
(`memory`), and what grows with the size of a file (`keystrokes`, with `remembering`) or of a
vocabulary (`vocabularies`).
"""
