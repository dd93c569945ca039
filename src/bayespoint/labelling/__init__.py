"""A page for one person who labels rows; ``bayespoint label`` opens it.

:class:`~bayespoint.labelling.session.Session` asks for rows and writes answers to a
:class:`~bayespoint.labelling.journal.Journal` at once. Its
:class:`~bayespoint.labelling.learner.Learner` learns in the background and chooses the questions.
:class:`~bayespoint.labelling.server.LabelServer` shows it all to a browser on the same computer.
"""
