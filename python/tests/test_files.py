"""Compares files of arrays with those that NumPy writes and reads."""
import io

import numpy
import pytest
import sinter as np

NAMES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64", "complex64", "complex128"]
SHAPES = [(), (0,), (7,), (3, 5), (2, 0, 4), (2, 3, 4)]


def sample(name, shape):
    """Random numbers of an element type, in NumPy's array."""
    made = numpy.random.default_rng(len(shape)).normal(size=shape) * 50
    return numpy.asarray(made + 1j * numpy.asarray(made)[..., ::-1] if name.startswith("c") and shape else made).astype(numpy.uint8 if name[0] == "u" else name).astype(name)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_files_go_both_ways(tmp_path, name, shape):
    x = sample(name, shape)

    def same(y):
        got = numpy.asarray(y)
        return got.dtype == x.dtype and got.shape == x.shape and got.tobytes() == x.tobytes()

    for order in "CF":
        numpy.save(tmp_path / "theirs.npy", numpy.asarray(x, order=order))
        assert same(np.load(tmp_path / "theirs.npy")) and same(np.load(open(tmp_path / "theirs.npy", "rb")))
    np.save(tmp_path / "ours.npy", np.asarray(x))
    assert same(numpy.load(tmp_path / "ours.npy"))
    stream = io.BytesIO()
    np.save(stream, np.asarray(x))
    stream.seek(0)
    assert same(numpy.load(stream))
    np.save(stream, np.asarray(x))
    stream.seek(0)
    assert same(np.load(stream)) and same(np.load(stream))  # one after the other
    for ours, theirs in ((np.savez, numpy.savez), (np.savez_compressed, numpy.savez_compressed)):
        for save, load in ((ours, numpy.load), (theirs, np.load)):
            for target in (tmp_path / "both.npz", io.BytesIO()):
                save(target, x if save is theirs else np.asarray(x), named=x if save is theirs else np.asarray(x))
                target.seek(0) if hasattr(target, "seek") else None
                with load(target) as archive:
                    assert sorted(archive.files) == sorted(archive) == ["arr_0", "named"] and same(archive["arr_0"]) and same(archive["named"])


def test_archives_are_mappings(tmp_path):
    x = np.arange(6.0).reshape(2, 3)
    for ending in ("npz", "safetensors"):
        path = tmp_path / f"x.{ending}"
        np.savez(path, a=x, b=x + 1)
        archive = np.load(path)
        assert {**archive}.keys() == {"a", "b"} and len(archive) == 2 and "a" in archive and "c" not in archive and repr(archive) == "Archive of a, b"
        assert archive["b"].tolist() == np.load(f"{path}:b").tolist() == [[1, 2, 3], [4, 5, 6]]
        with pytest.raises(KeyError, match="the archive has a, b"):
            archive["c"]
    with pytest.raises(np.ValueError, match="arr_0"):
        np.savez(tmp_path / "x.npz", x, arr_0=x)


def test_the_ending_selects_the_format(tmp_path):
    x = np.arange(6.0).reshape(2, 3)
    for ending in ("npz", "safetensors"):
        np.save(tmp_path / f"x.{ending}", x)
        assert np.load(tmp_path / f"x.{ending}")["arr_0"].tolist() == x.tolist()
    np.save(tmp_path / "x", x)
    assert numpy.load(tmp_path / "x.npy").tolist() == x.tolist()
    for ending in ("pt", "txt", "NPY"):
        with pytest.raises(np.IoError, match=f"no format has the ending '.{ending}'"):
            np.save(tmp_path / f"x.{ending}", x)


def test_files_that_cannot_be_read(tmp_path):
    for path in ("none.npy", "none.npz", "none.npz:a", "none.csv", "none.safetensors", "none.png"):
        with pytest.raises(FileNotFoundError, match="none") as raised:
            np.load(tmp_path / path)
        assert isinstance(raised.value, np.IoError)
    whole = io.BytesIO()
    np.save(whole, np.arange(5) * 1j)
    for cut in range(len(whole.getvalue())):
        path = tmp_path / "cut.npy"
        path.write_bytes(whole.getvalue()[:cut])
        with pytest.raises(np.IoError):
            np.load(io.BytesIO(whole.getvalue()[:cut]))
        with pytest.raises(np.IoError):
            np.load(path)
    for name in ("x.npz", "x.safetensors"):
        (tmp_path / name).write_bytes(b"no archive at all")
        with pytest.raises(np.IoError):
            np.load(tmp_path / name)
    for save, ending in ((np.savez, "npz"), (np.savez_compressed, "npz"), (np.savez, "safetensors")):
        path = tmp_path / f"whole.{ending}"
        save(path, a=np.arange(300) % 7 * 1.0)
        written = path.read_bytes()
        for place in numpy.random.default_rng().integers(len(written), size=60):  # a file with a changed byte is read as an array, or refused with a typed error
            path.write_bytes(written[:place] + bytes([written[place] ^ 0x55]) + written[place + 1:])
            try:
                for name, x in np.load(path).items():
                    x.tolist()
            except (np.Error, KeyError):
                pass
    with pytest.raises(TypeError, match="text"):
        np.load(io.StringIO("text"))
    with pytest.raises(np.DTypeError, match="complex"):
        np.savez(tmp_path / "z.safetensors", z=np.ones(2) * 1j)
    with pytest.raises(np.IoError, match=">f4"):
        stream = io.BytesIO()
        numpy.save(stream, numpy.arange(3, dtype=">f4"))
        stream.seek(0)
        np.load(stream)


def test_bfloat16_as_ml_dtypes_writes_it(tmp_path):
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    for shape in SHAPES:
        x = numpy.asarray(sample("float32", shape)).astype(bfloat16)
        numpy.save(tmp_path / "theirs.npy", x)
        numpy.savez(tmp_path / "theirs.npz", x=x)
        np.save(tmp_path / "ours.npy", np.asarray(x))
        np.savez(tmp_path / "ours.npz", x=np.asarray(x))
        stream = io.BytesIO()
        np.save(stream, np.asarray(x))
        assert (tmp_path / "ours.npy").read_bytes()[128:] == stream.getvalue()[128:] == (tmp_path / "theirs.npy").read_bytes()[128:]
        for found in (np.load(tmp_path / "theirs.npy"), np.load(tmp_path / "ours.npy"), np.load(tmp_path / "theirs.npz")["x"], np.load(tmp_path / "ours.npz")["x"]):
            assert found.dtype == np.bfloat16 and found.shape == shape and found.tobytes() == x.tobytes()
        assert numpy.load(tmp_path / "ours.npy").view(bfloat16).tobytes() == x.tobytes()
    with pytest.raises(TypeError):
        np.save(tmp_path / "none.npy", np.ones(2, dtype="float8_e4m3"))


TEXT = "# a b c\n1,2.5,3\n4,5e1,-6\n\n7,8,9 # end\n"


@pytest.mark.parametrize("given", [dict(delimiter=","), dict(delimiter=",", skiprows=2), dict(delimiter=",", usecols=(0, 2)), dict(delimiter=",", usecols=1), dict(delimiter=",", unpack=True),
                                   dict(delimiter=",", max_rows=1), dict(delimiter=",", max_rows=1, ndmin=2), dict(delimiter=",", usecols=1, max_rows=1), dict(delimiter=",", usecols=0, ndmin=2),
                                   dict(delimiter=",", dtype="float32"), dict(delimiter=",", usecols=[0, 2], dtype=int), dict(delimiter=",", comments=["#", "7"]), dict(delimiter=",", ndmin=1)])
def test_loadtxt(given, tmp_path):
    (tmp_path / "text").write_text(TEXT)
    want = numpy.loadtxt(tmp_path / "text", **given)
    for source in (tmp_path / "text", str(tmp_path / "text"), io.StringIO(TEXT), io.BytesIO(TEXT.encode()), TEXT.splitlines()):
        found = np.loadtxt(source, **given)
        assert found.dtype == want.dtype and found.shape == want.shape and numpy.array_equal(numpy.asarray(found), want), given


def test_text_files_that_are_refused():
    for lines in (["1 2", "3"], ["1 a"], ["1.5 x"]):
        with pytest.raises(ValueError, match="line"):
            np.loadtxt(lines)
    with pytest.raises(ValueError):
        np.loadtxt(["1.5"], dtype=int)
    with pytest.raises(FileNotFoundError):
        np.loadtxt("/none/such")


def test_genfromtxt():
    lines = ["a,b,c", "1,,3", "4,x,6"]
    for given in (dict(), dict(filling_values=-9), dict(usecols=(1, 2))):
        want = numpy.genfromtxt(lines, delimiter=",", skip_header=1, **given)
        assert numpy.array_equal(numpy.asarray(np.genfromtxt(lines, delimiter=",", skip_header=1, **given)), want, equal_nan=True)


@pytest.mark.parametrize("given", [dict(), dict(fmt="%d", delimiter=","), dict(fmt="%.3f", header="a b\nc", footer="end"), dict(fmt=["%d", "%.2e", "%g"], delimiter=";"), dict(fmt="%d-%d=%d"),
                                   dict(header="x", comments="", newline="\r\n")])
def test_savetxt(given):
    x = numpy.arange(6.0).reshape(2, 3) * 1.5
    want, found, in_bytes = io.StringIO(), io.StringIO(), io.BytesIO()
    numpy.savetxt(want, x, **given)
    np.savetxt(found, np.asarray(x), **given)
    np.savetxt(in_bytes, np.asarray(x), **given)
    assert found.getvalue() == want.getvalue() and in_bytes.getvalue().decode() == want.getvalue()


def test_savetxt_of_complex_numbers_and_many_axes(tmp_path):
    z = numpy.array([1 + 2j, -3.5 - 1j])
    want, found = io.StringIO(), io.StringIO()
    numpy.savetxt(want, z), np.savetxt(found, np.asarray(z))
    assert [complex(line.strip().replace(" ", "")) for line in want.getvalue().splitlines()] == [complex(line) for line in found.getvalue().splitlines()]
    with pytest.raises(ValueError, match="one or two axes"):
        np.savetxt(found, np.zeros((2, 2, 2)))
