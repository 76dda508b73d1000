"""Tests the displays in a real Jupyter kernel."""
import pytest

CELLS = [
    "import sinter as np\nx = np.arange(12.).reshape(3, 4)\nx",
    "(np.ones((2000, 30)) + 1)",
    "np.explain(np.softmax(np.gelu(np.placeholder(np.float32, [64, 32])) @ np.placeholder(np.float32, [32, 16])))",
    "np.zeros(3) + np.zeros(4)",
    "np.placeholder(np.float32, [3])",
    "x + 1",
    "with np.progress(after=0.05, every=0.05):\n    import time; np.eval(x * 3); time.sleep(0.3)",
    "%load_ext sinter\nx",
    "import time; np.eval(x * 5); time.sleep(1.5)",
]


@pytest.mark.long
def test_a_kernel_of_jupyter_shows_arrays_and_explanations(tmp_path):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    nbclient.NotebookClient(book, timeout=120, allow_errors=True, kernel_name="python3").execute()
    shown = [cell["outputs"][0] for cell in book.cells]
    assert "[[ 0.  1.  2.  3.]" in shown[0]["data"]["text/html"] and shown[0]["data"]["text/plain"].startswith("array([[ 0.,")
    assert "not computed" in shown[1]["data"]["text/html"] and "not computed" in shown[1]["data"]["text/plain"]
    assert "<svg" in shown[2]["data"]["text/html"] and "library call" in shown[2]["data"]["text/html"]
    assert shown[3]["ename"] == "ShapeError" and "broadcast" in shown[3]["evalue"]
    assert "placeholder" in shown[4]["data"]["text/html"] and "[[ 1.,  2.,  3.,  4.]" in shown[5]["data"]["text/plain"]
    assert "1 launched" in shown[6]["data"]["text/plain"] and "[[ 0." in shown[7]["data"]["text/html"] and "1 launched" in shown[8]["data"]["text/html"]
