"""`midtoken bench confidence`: is what the model is sure of right as often as it says?"""
