"""Keys and generators: the methods of NumPy's generator, and their distributions."""
import numpy
import pytest

import sinter

COUNT = 20000


def test_keys_split_and_fold():
    keys = [sinter.random.Key(7), *sinter.random.Key(7).split(3), sinter.random.Key(7).fold_in(1), sinter.random.Key(7).fold_in(-1), *sinter.random.Key(-5).split()]
    keys += [key.fold_in(2) for key in keys]  # keys of keys, whose numbers may be negative
    assert len(set(keys)) == len(keys) and all(-2**63 <= key < 2**63 for key in keys)
    assert sinter.random.Key(2**64 - 5) == sinter.random.Key(-5) and sinter.random.Key(7).split(3)[:2] == sinter.random.Key(7).split(2)
    draws = [tuple(sinter.random.normal(size=3, key=key).tolist()) for key in keys]
    assert len(set(draws)) == len(keys)
    with pytest.raises(TypeError):
        sinter.random.default_rng("text")


def test_spawned_generators_differ():
    one, two = sinter.random.default_rng(3).spawn(2)
    assert one.normal(size=4).tolist() != two.normal(size=4).tolist()
    assert sinter.random.default_rng(3).spawn(2)[0].random(2).tolist() == sinter.random.default_rng(3).spawn(2)[0].random(2).tolist()


@pytest.mark.parametrize("name, arguments, mean, deviation", [
    ("standard_exponential", (), 1, 1), ("standard_gamma", (4.0,), 4, 2), ("triangular", (0.0, 1.0, 3.0), 4 / 3, (7 / 18) ** 0.5), ("triangular", (-1.0, -1.0, 1.0), -1 / 3, (2 / 9) ** 0.5)])
def test_distributions(name, arguments, mean, deviation):
    x = numpy.asarray(getattr(sinter.random.default_rng(11), name)(*arguments, size=COUNT))
    assert x.shape == (COUNT,)
    assert abs(x.mean() - mean) < 5 * deviation / COUNT**0.5 and abs(x.std() - deviation) < 0.05 * deviation
    if name == "triangular":
        assert x.min() >= arguments[0] and x.max() <= arguments[2]


def test_multivariate_normal():
    mean, cov = numpy.array([1.0, -2, 0]), numpy.array([[2.0, 0.5, 0], [0.5, 1, 0], [0, 0, 0]])
    rng = sinter.random.default_rng(5)
    x = numpy.asarray(rng.multivariate_normal(mean, cov, size=(COUNT // 2, 2))).reshape(-1, 3)
    assert numpy.abs(x.mean(axis=0) - mean).max() < 0.06 and numpy.abs(numpy.cov(x.T) - cov).max() < 0.1
    assert rng.multivariate_normal(mean, cov).shape == (3,) and rng.multivariate_normal(mean, cov, 4).shape == (4, 3)


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_permuted(axis):
    x = numpy.arange(60).reshape(3, 20)
    y = numpy.asarray(sinter.random.default_rng(2).permuted(x, axis=axis))
    assert y.shape == x.shape and not numpy.array_equal(x, y)
    assert numpy.array_equal(numpy.sort(y, axis=axis).reshape(-1), numpy.sort(x, axis=axis).reshape(-1))
