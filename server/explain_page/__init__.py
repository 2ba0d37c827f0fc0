"""One page that shows how a suggestion came about, for people who have never heard of healing.

`facts.gather` runs a request with somebody watching (`trace`) and keeps plain data; `page.page`
makes one HTML document of it, which needs nothing else: no script, no network. `markup` is the only
place where HTML is made, so that no text of a document can become a part of the page's structure.

What is not here: the command (`explain_command`) and the editors' method (`explain_method`).
"""
