"""What a notebook shows."""
import html


def array_html(x):
    """Shape, type, bytes and whether the array is computed; its values when they are few or computed already."""
    head = f"<b>{' × '.join(map(str, x.shape)) or 'number'}</b> {x.dtype.name}, {x.nbytes:,} bytes, {'computed' if x.evaluated else 'not computed'}"
    if not x.evaluated and x.size > 1000:
        return f"<div>{head}</div>"
    return f"<div>{head}</div><pre>{html.escape(str(x))}</pre>"


def explanation_html(explanation):
    return f"<pre>{html.escape(explanation)}</pre>"
