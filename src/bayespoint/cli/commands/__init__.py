"""The commands, one in each file: its options, and what it does.

``bayespoint.cli.app`` has the list, and imports a command when it is called.
"""
