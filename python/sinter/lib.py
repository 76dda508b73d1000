"""Names under which NumPy's programs find its helper functions."""
from types import SimpleNamespace as _Namespace

from . import _functions as _f

stride_tricks = _Namespace(sliding_window_view=_f.sliding_window_view, as_strided=_f.as_strided, broadcast_to=_f.broadcast_to, broadcast_arrays=_f.broadcast_arrays,
                           broadcast_shapes=_f.broadcast_shapes)
__all__ = ["stride_tricks"]
