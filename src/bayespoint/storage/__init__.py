"""Model files: a fitted model in one file that holds no code.

A model file is a zip archive, uncompressed, with

* ``arrays/0.npy``, ``arrays/1.npy``, ...: the numbers, as NumPy writes them, never pickled;
* ``manifest.json``: the format and its version, the versions of the libraries, the user's metadata,
  the SHA-256 of every array, and the model as a tree of values and of objects of known classes;
* the SHA-256 of the manifest, as the archive's comment.

Nothing in a file can name a class that is not in the closed list ``registry.CLASSES``, and no
method of an object runs when its state is set. ``docs/model-files.md`` has every detail.
"""

from bayespoint.storage.files import ModelFile, describe, load, save

__all__ = ["ModelFile", "describe", "load", "save"]
