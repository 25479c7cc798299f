"""`rewards test`: what the declared rewards give on answers whose worth is known, before any model is trained.

answers    the right answer of a row, and answers that are wrong in a known way; answers of a run
scoring    the rewards as a run has them, in a process of their own
findings   what is suspicious about the scores
"""
