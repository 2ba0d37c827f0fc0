"""A model that runs elsewhere: on llama-server, vLLM, SGLang, or what speaks like them, over HTTP.

For people whose model runs on another machine or a cluster. Such engines batch, cache prefixes and
scale out; none of that is rebuilt here. They give text, no logits: so there is no covering tree, no
mask over bytes and no ranking, and the report says so.

To be read in this order: `literal` (what the answer is forced to begin with), `retyped` (which of
the typed bytes that is), `apis` with `llama_server`, `openai` and `shapes` (how each engine is
asked), `events` and `client` (HTTP), `keys`, `discovery` (what an engine says of itself),
`vocabulary` with `served` and `splitting` (whose tokenizer it is), `engine` with `no_logits`,
`probe` (how fast it reads), `writing` and `completer`; and beside them `arguments` (the command
line's options) and `silence` (what is said while an engine is waited for).
"""
