"""The version of the package, for code that cannot import the package itself."""

__version__ = "0.2.0"
