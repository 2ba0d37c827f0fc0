"""`midtoken bench rank`: is the name that comes next among the first of all names?"""
