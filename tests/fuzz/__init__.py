"""Random input for everything that reads what others wrote.

Each file has properties of one reader, which run among all other tests on some hundred inputs.
`python -m tests.fuzz` runs them for as long as one likes. Inputs that broke something stay in the
files as examples.
"""
