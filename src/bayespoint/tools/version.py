"""The version of the package, for code that cannot import the package itself."""

__version__ = "1.0.0"
