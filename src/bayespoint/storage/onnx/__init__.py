"""Classifiers as ONNX models, for programs without Python: see :func:`to_onnx`."""

from bayespoint.storage.onnx.export import to_onnx

__all__ = ["to_onnx"]
