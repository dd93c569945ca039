"""Work on a GPU: arrays on a device, kernel values, perceptrons, posteriors.

Everything here works on torch tensors and imports torch only when it is used. The pieces run on
torch's CPU device as well, where a slow reference stands in for the CUDA source
``source.cu``; the tests compare both with the compiled code of ``bayespoint._core``.
"""
