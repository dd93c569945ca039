"""What is wrong inside a model, or inside a file, before the path of the file is known."""


class ContentError(ValueError):
    """A value that cannot be kept in a model file, or that a model file should not contain."""
