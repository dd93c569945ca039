"""The version of the package, for whoever must not import the package itself."""

__version__ = "0.1.0"
