"""A page for one person who labels rows; ``bayespoint label`` opens it.

``session.Session`` asks for rows and writes answers to a ``journal.Journal`` at once. Its
``learner.Learner`` learns in the background and chooses the questions. ``server.LabelServer`` shows
all of it to a browser on the same computer.
"""
