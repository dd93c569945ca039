"""A page for one person who labels rows; ``bayespoint label`` opens it.

``session.Session`` shows rows and writes answers to a ``journal.Journal`` at once. Its
``learner.Learner`` fits models in the background and chooses the next rows. ``server.LabelServer``
serves the page to a browser on the same computer.
"""
