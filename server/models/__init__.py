"""Model files: which ones we know, where they are, and how they get there safely."""
