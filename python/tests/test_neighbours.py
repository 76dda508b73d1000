"""Exchange of arrays with other libraries in both directions: buffers, DLPack, NumPy's functions, other processes, threads."""
import ctypes
import gc
import multiprocessing
import subprocess
import sys
import threading
import warnings
import weakref

import numpy
import pytest

import sinter
from test_arrays import DTYPES, REAL, awaited, check, operand


def address(array):
    return numpy.asarray(array).ctypes.data


# --- the buffer protocol and __array__

@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 0), (2, 1, 3)], ids=str)
def test_a_buffer_shares_the_elements(dtype, shape):
    x = sinter.array(operand(dtype, shape))
    view = memoryview(x)
    assert view.readonly and view.shape == shape and view.itemsize == x.itemsize and view.nbytes == x.nbytes and view.c_contiguous
    assert dtype == "float16" or view.tolist() == x.tolist()  # a memoryview cannot read float16
    a = numpy.asarray(x)
    assert not a.flags.writeable and not a.flags.owndata and a.dtype.name == dtype
    if x.size:
        assert a.ctypes.data == address(x)  # the second array has the same elements
    check(x, a)


def test_computed_arrays_are_not_copied():
    for x in (sinter.arange(6.0).reshape(2, 3) + 1, sinter.exp(sinter.arange(3.0)), sinter.arange(6.0).reshape(2, 3).T, sinter.arange(6.0)[::2], sinter.zeros((2, 3))):
        sinter.eval(x)
        a = numpy.asarray(x)
        assert a.ctypes.data == address(x)
        check(x, a)
        assert numpy.asarray(x, copy=False).ctypes.data == a.ctypes.data and numpy.array(x, copy=None).ctypes.data == a.ctypes.data
        assert numpy.array(x).flags.writeable and numpy.array(x).ctypes.data != a.ctypes.data


def test_other_types_of_numpy_are_copies():
    x = sinter.arange(3)
    assert numpy.asarray(x, dtype="float32").dtype == "float32" and x.__array__(dtype=numpy.dtype("int8")).tolist() == [0, 1, 2]
    for refused in (lambda: numpy.asarray(x, dtype="float32", copy=False), lambda: x.__array__(dtype=numpy.dtype("int8"), copy=False)):
        with pytest.raises(ValueError):
            refused()


def test_complex_arrays_are_copied():
    z = sinter.array([1 + 2j, 3])
    check(z, numpy.asarray(z))
    assert memoryview(z).format == "Zd" and numpy.array(z).tolist() == [1 + 2j, 3]
    with pytest.raises(ValueError):
        z.__array__(copy=False)


@awaited("NumPy asks the buffer protocol first, which copies")
def test_complex_arrays_refuse_to_be_shared():
    with pytest.raises(ValueError):
        numpy.asarray(sinter.array([1 + 2j, 3]), copy=False)


def test_a_buffer_outlives_its_array():
    x = sinter.arange(1000.0) * 2
    view, a = memoryview(x), numpy.asarray(x)
    x[:] = 0  # assigns another value to the handle
    assert view[7] == 14 and a[7] == 14
    del x
    gc.collect()
    junk = [sinter.eval(sinter.full(1000, float(k))) for k in range(5)]
    assert view[999] == 1998 and a.sum() == 999000 and len(junk) == 5


def test_buffers_are_not_written():
    x = sinter.arange(3)
    with pytest.raises((TypeError, ValueError)):
        memoryview(x)[0] = 1
    with pytest.raises((BufferError, TypeError)):
        (ctypes.c_char * 8).from_buffer(x)
    with pytest.raises(ValueError):
        numpy.asarray(x)[0] = 1
    with pytest.raises(ValueError):
        numpy.asarray(x).flags.writeable = True


@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_arrays_are_copied_in(dtype):
    a = numpy.array(operand(dtype, (3, 4)))
    for part in (a, a.T, a[::2], a[:, ::-1], a[1:1], a[1, 2], a[None], numpy.broadcast_to(a, (2, 3, 4)), a.astype(a.dtype.newbyteorder(">"))):
        check(sinter.asarray(part), part.astype(dtype) if isinstance(part, numpy.ndarray) else part)
    x = sinter.asarray(a)
    before = a.copy()
    a[...] = 0
    check(x, before)


def test_other_buffers():
    import array
    check(sinter.asarray(array.array("d", [1.5, 2])), [1.5, 2.0])
    check(sinter.asarray(memoryview(numpy.arange(6).reshape(2, 3))), numpy.arange(6).reshape(2, 3))
    check(sinter.asarray((ctypes.c_int * 3)(1, 2, 3)), numpy.array([1, 2, 3], "int32"))


@pytest.mark.parametrize("source", [numpy.array(["a"]), numpy.array([object()]), numpy.array(["2020-01-01"], dtype="datetime64"), numpy.zeros(2, dtype=[("a", int)]), b"abc"])
def test_elements_that_are_no_numbers(source):
    with pytest.raises(TypeError):
        sinter.asarray(source)


# --- DLPack

@pytest.mark.parametrize("dtype", REAL)
def test_numpy_takes_dlpack(dtype):
    x = sinter.array(operand(dtype))
    a = numpy.from_dlpack(x)
    assert a.ctypes.data == address(x) and not a.flags.writeable
    check(x, a)
    copied = numpy.from_dlpack(x, copy=True)
    assert copied.flags.writeable and copied.ctypes.data != address(x)
    before = x.tolist()
    copied[...] = 0
    assert x.tolist() == before
    del x
    gc.collect()
    assert a.tolist() == before


def test_dlpack_of_numpy():
    a = numpy.arange(6.0).reshape(2, 3)
    x = sinter.from_dlpack(a)
    assert address(x) == a.ctypes.data
    check(x, a)
    alive = weakref.ref(a)
    del a
    gc.collect()
    assert alive() is not None and x.tolist() == [[0, 1, 2], [3, 4, 5]]  # the array keeps the shared memory alive
    del x
    gc.collect()
    assert alive() is None
    check(sinter.asarray(numpy.arange(3), copy=False), numpy.arange(3))
    assert sinter.from_dlpack(y := sinter.arange(3)) is y


LAYOUTS = ["x", "x.T", "x[1:]", "numpy.asfortranarray(x)", "x.transpose(2, 0, 1)", "x[::2, ::3]", "x[::-1]", "x[..., 3:4]", "x[:0]", "x[0, 0, 0:1].reshape(())",
           "numpy.broadcast_to(x[0], (2, 4, 5))"]


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("text", LAYOUTS)
def test_layouts_go_through_dlpack_both_ways(text, dtype):
    a = eval(text, {"numpy": numpy, "x": (numpy.arange(60).reshape(3, 4, 5) % 7).astype(dtype)})
    x = sinter.from_dlpack(a)
    check(x, a)
    check(x, numpy.from_dlpack(x))


@pytest.mark.parametrize("take", [lambda a: sinter.from_dlpack(a, copy=True), lambda a: sinter.asarray(Exporter(a))], ids=["copy=True", "asarray"])
def test_copies_of_dlpack_are_not_shared(take):
    a = numpy.arange(4.0)
    x = take(a)
    a[:] = 7
    assert x.tolist() == [0, 1, 2, 3]


class Exporter:
    """This object supports only DLPack."""

    def __init__(self, array):
        self.__dlpack__, self.__dlpack_device__ = array.__dlpack__, array.__dlpack_device__


def test_assigning_to_a_shared_array_leaves_the_other_one_alone():
    a = numpy.arange(4.0)
    x = sinter.from_dlpack(a)
    x[0] = 100
    x += 1
    sinter.eval(x)
    assert a.tolist() == [0, 1, 2, 3] and x.tolist() == [101, 2, 3, 4]


def test_capsules():
    x = sinter.arange(3)
    assert x.__dlpack_device__() == (1, 0)
    for keywords in ({}, {"max_version": (1, 0)}, {"max_version": (1, 0), "copy": True}, {"max_version": (0, 8)}, {"dl_device": (1, 0), "max_version": (1, 0)}, {"stream": None}):
        assert type(x.__dlpack__(**keywords)).__name__ == "PyCapsule"
    for keywords in ({"copy": False}, {"dl_device": (2, 0)}):
        with pytest.raises(BufferError):
            x.__dlpack__(**keywords)
    with pytest.raises(BufferError):
        sinter.array([1j]).__dlpack__()
    with pytest.raises((TypeError, AttributeError)):
        sinter.from_dlpack([1, 2])


TORCH_TYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "float16", "float32", "float64"]


@pytest.mark.long
def test_torch_both_ways():
    torch = pytest.importorskip("torch")
    for dtype in TORCH_TYPES + ["bfloat16"]:
        x = sinter.array([[1, 0, 1], [0, 1, 1]]).astype(dtype)
        tensor = torch.from_dlpack(x)
        assert tensor.dtype == getattr(torch, dtype) and tensor.tolist() == x.tolist() and tensor.data_ptr() == torch.from_dlpack(x).data_ptr()
        back = sinter.from_dlpack(tensor.clone())
        assert back.dtype == x.dtype and back.tolist() == x.tolist()
        del x
        gc.collect()
        assert tensor.tolist()[0] == [1, 0, 1]
    tensor = torch.arange(6.0).reshape(2, 3)
    x = sinter.from_dlpack(tensor)
    assert x.__array__().ctypes.data == tensor.data_ptr()
    check(sinter.from_dlpack(tensor.T), tensor.T.numpy())
    del tensor
    gc.collect()
    assert x.sum() == 15
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the elements are read-only
        assert torch.as_tensor(x).tolist() == x.tolist() and torch.tensor(x).shape == (2, 3)
    with pytest.raises(BufferError):
        sinter.from_dlpack(torch.ones(2, requires_grad=True))


@pytest.mark.long
def test_jax_both_ways():
    jax = pytest.importorskip("jax")
    for dtype in ["int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "float32", "bfloat16"]:
        x = sinter.array([[1, 0, 1], [0, 1, 1]]).astype(dtype)
        theirs = jax.dlpack.from_dlpack(x)
        assert theirs.dtype.name == dtype and theirs.tolist() == x.tolist()
        back = sinter.from_dlpack(theirs)
        assert back.dtype == x.dtype and back.tolist() == x.tolist()
        del x
        gc.collect()
        assert theirs.tolist()[0] == [1, 0, 1] and jax.numpy.sum(theirs) == 4
        del theirs
        gc.collect()
        assert back.tolist()[1] == [0, 1, 1]
    check(sinter.asarray(jax.numpy.arange(3) * 1j), numpy.arange(3).astype("complex64") * numpy.complex64(1j))


def test_narrow_types_of_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3"):
        x = sinter.array([0.5, -2, 3]).astype(name)
        a = numpy.asarray(x)
        assert a.dtype == getattr(ml_dtypes, name) and a.astype(float).tolist() == [0.5, -2, 3]
        assert sinter.zeros(2, dtype=getattr(ml_dtypes, name)).dtype == x.dtype
        with pytest.raises(BufferError):
            memoryview(x)
        assert numpy.asarray(x, dtype="float32").tolist() == [0.5, -2, 3]


def test_narrow_types_of_ml_dtypes_come_back():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        x = sinter.asarray(numpy.array([0.5, -2, 3]).astype(getattr(ml_dtypes, name)))
        assert x.dtype.name == name and x.tolist() == [0.5, -2, 3]


# --- NumPy's functions

CALLS = ["np.sin(x)", "np.add(x, 1)", "np.add(a, x)", "a + x", "a @ x.T", "a - x", "a ** x", "a < x", "np.float64(2) * x", "np.sum(x)", "np.mean(x, axis=0)", "np.concatenate([x, x])", "np.where(x > 2, x, 0)",
         "np.linalg.norm(x)", "np.fft.fft(x)", "np.add.reduce(x)", "np.multiply.outer(x, x)", "np.maximum.accumulate(x)", "np.unwrap(x)", "np.einsum('ij->i', x)", "np.clip(x, 1, 2)", "np.kron(x, x)", "np.sort(x)",
         "np.isnan(x)", "np.zeros_like(x)", "np.full_like(x, 3)", "np.broadcast_to(x, (2, 2, 3))", "np.unique(x)", "np.convolve(x[0], x[1])", "np.i0(x)", "np.pad(x, 1)", "np.nan_to_num(x)", "np.interp(0.5, x[0], x[1])",
         "np.apply_along_axis(np.sum, 0, x)", "np.polyfit(x[0], x[1], 1)", "np.stack([x, a])", "np.reshape(x, (3, 2))", "np.transpose(x)", "np.argmax(x)", "np.cumsum(x, axis=1)", "np.dot(x, x.T)", "np.tensordot(x, x, axes=2)",
         "np.median(x)", "np.percentile(x, 30)", "np.linalg.solve(x @ x.T, x)", "np.take(x, [0], axis=1)", "np.roll(x, 1)", "np.tile(x, 2)", "np.angle(x)", "np.var(x, ddof=1)", "np.logical_and(x, a)", "np.arctan2(x, a)"]


@pytest.mark.parametrize("text", CALLS)
def test_functions_of_numpy_give_arrays_of_sinter(text):
    a = numpy.array([[1.0, 2.5, 4], [0.5, 3, 7]])
    made = eval(text, {"np": numpy, "a": a, "x": sinter.array(a)})
    assert isinstance(made, sinter.Array)
    theirs = numpy.asarray(eval(text, {"np": numpy, "a": a, "x": a}))
    assert made.shape == theirs.shape and made.dtype.name == theirs.dtype.name
    numpy.testing.assert_allclose(numpy.asarray(made), theirs, rtol=1e-12, atol=1e-12)


def test_functions_of_numpy_with_several_results():
    x = sinter.array([[1.0, 2.5], [4, 0.5]])
    for text in ("np.modf(x)", "np.divmod(x, 2)", "np.frexp(x)", "np.linalg.svd(x)", "np.histogram(x)", "np.nonzero(x)", "np.unique(x, return_counts=True)", "np.meshgrid(x[0], x[1])"):
        for ours, theirs in zip(eval(text, {"np": numpy, "x": x}), eval(text, {"np": numpy, "x": numpy.asarray(x)}), strict=True):
            assert isinstance(ours, sinter.Array), text
            numpy.testing.assert_allclose(abs(numpy.asarray(ours)), abs(theirs), rtol=1e-12, atol=1e-12, err_msg=text)


@pytest.mark.parametrize("text", ["np.busday_count(x, x)", "np.datetime_as_string(x)", "np.char.upper(x)", "np.frompyfunc(lambda v: v, 1, 1)(x)", "np.isnat(x)"])
def test_functions_that_are_not_there(text):
    with pytest.raises(TypeError):
        eval(text, {"np": numpy, "x": sinter.arange(3.0)})


def test_a_numpy_array_takes_an_array_in_place():
    a = numpy.zeros(3)
    a += sinter.arange(3.0)
    assert a.tolist() == [0, 1, 2]
    a[:] = sinter.arange(3.0)
    assert a.tolist() == [0, 1, 2]


def test_results_in_an_array_of_sinter():
    out = sinter.zeros(3)
    assert numpy.add(sinter.arange(3.0), 1, out=out) is out and out.tolist() == [1, 2, 3]
    assert numpy.add(numpy.arange(3.0), numpy.ones(3), out=out) is out and out.tolist() == [1, 2, 3]
    numpy.copyto(out, 5)
    numpy.add.at(out, [0], 1)
    assert out.tolist() == [6, 5, 5]


def test_numpy_asks_for_values():
    x = sinter.array([0.1, 0.7])
    assert numpy.random.default_rng(0).choice(x) in (0.1, 0.7) and numpy.shape(x) == (2,) and numpy.ndim(x) == 1 and numpy.size(x) == 2
    numpy.testing.assert_allclose(x, [0.1, 0.7])
    assert numpy.array([10, 20])[sinter.array([1, 0])].tolist() == [20, 10] and numpy.array([10, 20])[sinter.array(1)] == 20


# --- other processes and threads

def doubled(x):
    return x * 2


@pytest.mark.filterwarnings("ignore:os.fork")  # of JAX's threads
@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_a_worker_process(method):
    x = sinter.arange(1000.0)
    sinter.eval(x + 1)
    context = multiprocessing.get_context(method)
    with context.Pool(1) as pool:
        got = pool.apply_async(doubled, (x,)).get(timeout=60)
        complex_ones = pool.apply_async(doubled, (sinter.array([1j]),)).get(timeout=60)
    check(got, numpy.arange(1000.0) * 2)
    check(complex_ones, numpy.array([2j]))


def test_threads():
    shared, results, errors = sinter.arange(1000.0), {}, []

    def work(number):
        try:
            x = shared
            for step in range(20):
                x = sinter.sin(x) * 0.5 + number
                if step % 5 == 0:
                    sinter.eval(x)
            results[number] = float(x.sum())
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not errors and len(results) == 8
    for number, got in results.items():
        a = numpy.arange(1000.0)
        for _ in range(20):
            a = numpy.sin(a) * 0.5 + number
        assert abs(got - a.sum()) < 1e-8


def test_threads_that_read_one_array():
    x = sinter.cumsum(sinter.ones(100000))
    totals = []
    threads = [threading.Thread(target=lambda: totals.append(float(x[-1]) + numpy.asarray(x)[0])) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert totals == [100001.0] * 8


RACE = """
import threading, time
import numpy, sinter
x, until = sinter.arange(2000.0), time.time() + 1.5

def repeat(work):
    while time.time() < until:
        work()

def assign():
    x[0] = x[1] + 1

readers = [x.tolist, lambda: str(x), lambda: numpy.asarray(x).sum(), lambda: numpy.from_dlpack(x), lambda: float(x.sum())]
threads = [threading.Thread(target=repeat, args=(work,)) for work in [assign, *readers]]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def test_a_thread_assigns_while_others_read():
    done = subprocess.run([sys.executable, "-c", RACE], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, f"{done.returncode} {done.stderr[-500:]}"
