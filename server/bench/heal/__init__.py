"""Does healing restore what token boundaries destroy? `midtoken bench heal` measures it.

Read `places` (where text is cut), `prompts` and `scores` (what each method makes of a cut), `tasks`
(everything that is measured, one step at a time) and `command`. `lines`, `repeat`, `rewrites` and
`programs` are tasks of their own; `results`, `summary`, `statistics`, `tables` and `plots` are what
becomes of the figures.
"""
