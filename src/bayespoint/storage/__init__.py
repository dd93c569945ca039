"""Model files: a model in one file without code.

A model file is an uncompressed zip archive with

* ``arrays/0.npy``, ``arrays/1.npy``, ...: the arrays in NumPy's format, never pickled;
* ``manifest.json``: the format and its version, the versions of the libraries, the user's metadata,
  the SHA-256 of every array, and the model as a tree of values and objects of known classes;
* the SHA-256 of the manifest, as the comment of the archive.

A file can only contain objects of the classes in ``registry.CLASSES``, and no method of an object
runs when its state is set. See ``docs/model-files.md`` for the details.
"""

from bayespoint.storage.files import ModelFile, describe, load, save

__all__ = ["ModelFile", "describe", "load", "save"]
