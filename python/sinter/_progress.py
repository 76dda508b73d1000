"""A line that shows the progress of long work: below the cell in a notebook, in the last line of a terminal, and not at all elsewhere."""
import contextvars
import sys
import threading
import time

from . import _core

__all__ = ["progress"]


def in_notebook():
    """Returns whether the program runs in a Jupyter kernel."""
    return "IPython" in sys.modules and hasattr(sys.modules["IPython"].get_ipython(), "kernel")


class _InNotebook:
    def __init__(self):
        self._shown = None

    def show(self, text):
        import html

        content = {"text/html": f"<div><code>{html.escape(text)}</code></div>", "text/plain": text}
        if self._shown is None:
            from IPython.display import display

            self._shown = display(content, raw=True, display_id=True)
        else:
            self._shown.update(content, raw=True)

    def close(self, text):
        self.show(text)


class _OnTerminal:
    def show(self, text):
        print(f"\r{text[:100]}\033[K", end="", file=sys.stderr, flush=True)

    def close(self, text):
        print("\r\033[K", end="", file=sys.stderr, flush=True)


class progress:
    """Shows the compilations and launches of the block once they take longer than `after` seconds: `with sinter.progress(): ...`. `%load_ext sinter` does so for each cell."""

    def __init__(self, after=1.0, every=0.2, part=lambda: None):
        self._after, self._every, self._part = after, every, part  # `part` returns the finished share, in words, or None

    def __enter__(self):
        self._start, self._before = time.monotonic(), _core.counters()
        self._stop, self._thread = threading.Event(), None
        where = _InNotebook() if in_notebook() else _OnTerminal() if sys.stderr is not None and sys.stderr.isatty() else None
        if where is not None:
            # A notebook uses the context to find the cell to which output belongs.
            self._thread = threading.Thread(target=contextvars.copy_context().run, args=(self._draw, where), daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *error):
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _text(self):
        now = _core.counters()
        counted = {name: now[name] - self._before[name] for name in now}
        parts = [self._part(), f"{counted['kernels_compiled']} kernels compiled", f"{counted['kernels_from_disk']} from the cache",
                 f"{counted['kernels_launched']} launched", f"{time.monotonic() - self._start:.1f} s"]
        return ", ".join(part for part in parts if part)

    def _draw(self, where):
        if self._stop.wait(self._after):
            return
        where.show(self._text())
        while not self._stop.wait(self._every):
            where.show(self._text())
        where.close(self._text())


class _EachCell:
    """Shows the progress while a cell runs."""

    def __init__(self):
        self._running = None

    def before(self, info=None):
        self._running = progress().__enter__()

    def after(self, result=None):
        if self._running is not None:
            self._running.__exit__()
            self._running = None


_each_cell = _EachCell()


def load_ipython_extension(shell):
    """%load_ext sinter: each cell that takes longer than a second shows its compilations and launches."""
    shell.events.register("pre_run_cell", _each_cell.before)
    shell.events.register("post_run_cell", _each_cell.after)


def unload_ipython_extension(shell):
    """%unload_ext sinter: cells no longer show their progress."""
    shell.events.unregister("pre_run_cell", _each_cell.before)
    shell.events.unregister("post_run_cell", _each_cell.after)
    _each_cell.after()
