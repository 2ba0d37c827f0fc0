"""`midtoken bench typing`: what a person gets who types, here and with llama.vim.

`typist` is who types, `replay` the run, `suggesters` what can be asked. `llama_vim` does what that
plugin does, with llama.cpp's own server. `figures` and `comparison` count, `report` writes.
"""
