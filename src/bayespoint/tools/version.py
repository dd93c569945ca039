"""The version of the package, for whoever must not import the package itself."""

__version__ = "0.2.0"
