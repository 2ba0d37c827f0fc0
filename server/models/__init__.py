"""The model store: which models there are, where their files lie, and how they get there.

`catalog` has the facts, `store` the files on the disk, and `download` fetches a file from the hub
(`hub`, with `patience` where it asks for it) or from a mirror of its bytes (`mirror`). Nothing but
`download.pull` opens connections.
"""
