"""Displays for notebooks: arrays, explanations as a table and a graph, frozen functions."""
import base64
import html
import struct
import zlib

from ._progress import in_notebook


def png(rows):
    """Returns a PNG of rows of pixels. A pixel is one byte (grey) or three (RGB)."""
    height, width = len(rows), len(rows[0])
    channels = len(rows[0][0]) if isinstance(rows[0][0], (list, tuple)) else 1
    raw = b"".join(b"\0" + bytes(value for pixel in row for value in (pixel if channels > 1 else (pixel,))) for row in rows)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2 if channels == 3 else 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b"")


def _is_picture(x):
    colours = x.ndim == 3 and x.shape[2] == 3
    return x.dtype.name == "uint8" and (x.ndim == 2 or colours) and 8 <= min(x.shape[:2]) and max(x.shape[:2]) <= 1024


def array_html(x):
    """Shows shape, type, bytes and whether the array is computed. Shows the values if they are few or computed already, and a 2-D array of bytes as a picture."""
    state = "computed" if x.evaluated else "not computed"
    head = f"<b>{' × '.join(map(str, x.shape)) or 'number'}</b> {x.dtype.name}, {x.nbytes:,} byte{'' if x.nbytes == 1 else 's'}, {state}"
    if not x.evaluated and x.size > 1000:
        return f"<div>{head}; <code>print(x)</code> computes it</div>"
    try:
        if _is_picture(x):
            return f'<div>{head}</div><img src="data:image/png;base64,{base64.b64encode(png(x.tolist())).decode()}">'
        return f"<div>{head}</div><pre>{html.escape(str(x))}</pre>"
    except Exception as error:  # a placeholder has no values, and an error of the evaluation is shown in place of the values
        return f"<div>{head}; {html.escape(str(error))}</div>"


def array_bundle(x):
    """Returns the HTML and the plain text of an array for a Jupyter kernel, which would otherwise call repr() and so compute the array. Returns nothing for
    other shells."""
    if not in_notebook():
        return {}
    shown = array_html(x)  # computes the values of a small array
    return {"text/html": shown, "text/plain": repr(x) if x.evaluated else f"<array of shape {x.shape} and type {x.dtype.name}, which is not computed>"}


def _bytes(count):
    for unit in ("B", "KB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000


def _operand(value):
    return f"{value['dtype']} {tuple(value['shape'])}"


def _steps(data):
    return sorted(data["kernels"] + data["library_calls"], key=lambda step: step["step"])


def _table(data):
    rows = []
    for step in _steps(data):
        kind = "library" if "library" in step else "kernel"
        what = ", ".join(step.get("ops", [])) or step["name"]
        cells = [step["step"] + 1, kind, what, "<br>".join(map(html.escape, map(_operand, step["inputs"]))), "<br>".join(map(html.escape, map(_operand, step["outputs"]))),
                 _bytes(step["bytes_moved"]), f"{html.escape(step['boundary']['reason'])}: {html.escape(step['boundary']['detail'])}"]
        rows.append("".join(f"<td style='text-align:left;vertical-align:top'>{cell}</td>" for cell in cells))
    heads = ["step", "", "operations", "reads", "writes", "moves", "split reason"]
    return "<table><tr>" + "".join(f"<th style='text-align:left'>{head}</th>" for head in heads) + "</tr>" + "".join(f"<tr>{row}</tr>" for row in rows) + "</table>"


def explanation_html(explanation):
    """Shows the figures, the graph and the table; a click shows the whole text."""
    data = explanation.data
    head = html.escape(explanation.splitlines()[0]) if explanation else "nothing is left to compute"
    if not _steps(data):
        return f"<div>{head}</div>"
    return f"<div><b>{head}</b></div>{explanation._drawing()}{_table(data)}<details><summary>the whole text</summary><pre>{html.escape(explanation)}</pre></details>"
