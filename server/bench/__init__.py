"""`midtoken bench`: measurements of the whole server on this machine, as a person would see it."""
