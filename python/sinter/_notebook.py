"""What a notebook shows: arrays, explanations as a table and a graph, frozen functions."""
import base64
import html
import struct
import zlib

from ._progress import in_notebook


def png(rows):
    """A PNG of rows of bytes: one channel, or three side by side."""
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
    """Shape, type, bytes and whether the array is computed; its values when they are few or computed already, and a picture of bytes in two axes."""
    state = "computed" if x.evaluated else "not computed"
    head = f"<b>{' × '.join(map(str, x.shape)) or 'number'}</b> {x.dtype.name}, {x.nbytes:,} bytes, {state}"
    if not x.evaluated and x.size > 1000:
        return f"<div>{head}; <code>print(x)</code> computes it</div>"
    try:
        if _is_picture(x):
            return f'<div>{head}</div><img src="data:image/png;base64,{base64.b64encode(png(x.tolist())).decode()}">'
        return f"<div>{head}</div><pre>{html.escape(str(x))}</pre>"
    except Exception as error:  # a placeholder has no values; an error of the evaluation belongs to the cell that asks for them
        return f"<div>{head}; {html.escape(str(error))}</div>"


def array_bundle(x):
    """The HTML and the plain text of an array for a Jupyter kernel, which would compute the array for the plain text otherwise; nothing for other shells, which call repr()."""
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
                 _bytes(step["bytes_moved"]), f"{html.escape(step['cut']['reason'])}: {html.escape(step['cut']['detail'])}"]
        rows.append("".join(f"<td style='text-align:left;vertical-align:top'>{cell}</td>" for cell in cells))
    heads = ["step", "", "operations", "reads", "writes", "moves", "why it ends"]
    return "<table><tr>" + "".join(f"<th style='text-align:left'>{head}</th>" for head in heads) + "</tr>" + "".join(f"<tr>{row}</tr>" for row in rows) + "</table>"


def graph_svg(data):
    """The steps as boxes in the order in which they run, with an arrow for each value that one hands to a later one."""
    steps = _steps(data)[:60]
    width, height, gap = 460, 46, 30
    place = {step["step"]: k for k, step in enumerate(steps)}
    parts = []
    for k, step in enumerate(steps):
        y = 10 + k * (height + gap)
        library = "library" in step
        ops = step.get("ops", [])
        what = ", ".join(ops) if ops else step["name"]
        what = what if len(what) < 62 else what[:59] + "…"
        out = step["outputs"][0] if step["outputs"] else None
        below = (_operand(out) if out else "") + f", moves {_bytes(step['bytes_moved'])}"
        parts.append(f'<rect x="40" y="{y}" width="{width}" height="{height}" rx="5" fill="{"#e8eefc" if library else "#eaf6ea"}" stroke="#667"/>'
                     f'<text x="52" y="{y + 19}" font-weight="bold">{step["step"] + 1}. {html.escape(what)}</text>'
                     f'<text x="52" y="{y + 37}" fill="#445">{html.escape(below)}</text>')
        for source in {value["of_step"] for value in step["inputs"] if value.get("of_step") in place}:
            start = place[source]
            y0, y1 = 10 + start * (height + gap) + height, y
            if start == k - 1:
                path = f"M 260 {y0} L 260 {y1 - 2}"
            else:
                bend = 40 + width + 12 + 6 * (k - start)
                path = f"M {40 + width} {y0 - height // 2} C {bend} {y0 - height // 2}, {bend} {y1 + height // 2}, {40 + width} {y1 + height // 2}"
            parts.append(f'<path d="{path}" fill="none" stroke="#334" marker-end="url(#sinter-arrow)"/>')
    total = 10 + len(steps) * (height + gap)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="620" height="{total}" viewBox="0 0 620 {total}" font-family="sans-serif" font-size="12">'
            '<defs><marker id="sinter-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="#334"/></marker></defs>'
            + "".join(parts) + "</svg>")


def explanation_html(explanation):
    """The figures, the graph, the table, and the whole text behind a click."""
    data = explanation.data
    head = html.escape(explanation.splitlines()[0]) if explanation else "nothing is left to compute"
    if not _steps(data):
        return f"<div>{head}</div>"
    return f"<div><b>{head}</b></div>{graph_svg(data)}{_table(data)}<details><summary>all that is known</summary><pre>{html.escape(explanation)}</pre></details>"
