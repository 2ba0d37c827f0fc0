"""Token healing: complete text at any byte, not only where the model's tokens happen to end.

The package knows bytes and token ids, nothing else: no editor protocol, no model runtime, no files.
Read it in this order: `vocabulary` (what a token spells), `trie` (tokens by prefix), `encoding`
(text to ids, safely), `merges` (which neighbours byte-pair encoding can leave side by side),
`tokenization` (these together), `covers` (the covering tree; `unfinished` helps it with half
characters), `exact` (reading the tree as a distribution), `best` (choosing from it), `left_out` and
`alternatives` (what else could come), `rows` (what is remembered while a person types),
`constrained` (the cheaper methods, for comparison and for engines without trees), `stitch` (bytes
back to text).
"""
