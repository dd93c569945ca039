"""The commands, one in each file: its options, and what it does.

``bayespoint.cli.app`` has the list, and imports a command when it is called. What takes
long to import stands below ``if not options.ONLY_HELP``, so that help is shown at once.
"""
