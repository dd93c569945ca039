"""The commands: what each is asked for, and the steps that it takes.

These modules import no large library: help must appear at once. A command imports what it works
with when it runs, from the modules of :mod:`bayespoint.cli`.
"""
