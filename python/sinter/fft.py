"""Discrete Fourier transforms, by NumPy's names."""
from . import _functions as _f

__all__ = "fft ifft fft2 ifft2 fftn ifftn rfft irfft rfft2 irfft2 rfftn irfftn hfft ihfft fftfreq rfftfreq fftshift ifftshift".split()
globals().update({name: getattr(_f, name) for name in __all__})
