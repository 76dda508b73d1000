"""Other libraries (SciPy, scikit-learn and more) give the same results for sinter's arrays as for NumPy's. `python test_clients.py` runs the calls and prints the table of docs/python-clients.md."""
import importlib
import os

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # read when SciPy and scikit-learn are imported

import collections
import pathlib
import sys
import warnings

import numpy
import pytest

import sinter

SCIPY = """
special.softmax(x, axis=1)
special.log_softmax(x, axis=1)
special.logsumexp(x, axis=1)
special.logsumexp(x, b=x)
special.expit(x)
special.logit(x / 10)
special.erf(x)
special.gammaln(x)
special.i0(x)
special.ndtr(x)
special.xlogy(x, x)
special.entr(x)
special.rel_entr(x, y)
special.betainc(x, x, x / 10)
special.stdtrit(x, x / 10)
special.chdtr(x, x)
integrate.trapezoid(x, axis=1)
integrate.trapezoid(x, xp.arange(6.0), axis=1)
integrate.simpson(x, axis=1)
integrate.cumulative_trapezoid(x, axis=1, initial=0)
integrate.cumulative_simpson(x)
integrate.fixed_quad(lambda t: t**2, 0, xp.asarray(1.0))[0]
integrate.romb(x[:, :5], axis=1)
integrate.tanhsinh(lambda t: xp.exp(-t * t), xp.asarray(0.0), x[0]).integral
integrate.nsum(lambda k: 1 / k**2, xp.asarray(1.0), xp.asarray(xp.inf)).sum
integrate.cubature(lambda t: xp.sum(t**2, axis=-1), xp.asarray([0.0, 0.0]), xp.asarray([1.0, 1.0])).estimate
integrate.quad_vec(lambda t: t * x[0], 0, 1)[0]
differentiate.derivative(xp.sin, x[0]).df
differentiate.jacobian(lambda t: xp.stack([t[0] ** 2 + t[1], xp.sin(t[1])]), x[:, 0]).df
differentiate.hessian(lambda t: t[0] ** 2 * t[1], x[:, 0]).ddf
oe.find_root(lambda t, c: t**2 - c, (xp.zeros(6), xp.ones(6) * 9), args=(x[0],)).x
oe.find_minimum(lambda t, c: (t - c) ** 2, (xp.full(6, -10.0), xp.full(6, 0.1), xp.full(6, 10.0)), args=(x[0],)).x
oe.bracket_root(lambda t, c: t**2 - c, xp.full(6, 0.1), args=(x[0],)).bracket[1]
oe.bracket_minimum(lambda t, c: (t - c) ** 2, xp.full(6, 0.1), args=(x[0],)).bracket[1]
signal.windows.hann(8, xp=xp)
signal.windows.kaiser(8, 3.0, xp=xp)
signal.windows.blackman(8, xp=xp)
signal.windows.gaussian(8, 1.5, xp=xp)
signal.windows.tukey(8, xp=xp)
signal.detrend(x)
signal.sosfilt(xp.asarray([[1.0, 2, 1, 1, 0, 0]]), x)
signal.lfilter(xp.asarray([1.0, 2]), xp.asarray([1.0]), x)
signal.fftconvolve(x, x)
signal.convolve(x, x)
signal.correlate(x, x)
signal.hilbert(x)
signal.resample(x, 4, axis=1)
signal.welch(x[0], nperseg=4)[1]
signal.savgol_filter(x, 3, 1)
signal.firwin(5, xp.asarray(0.5))
signal.freqz(xp.asarray([1.0, 2, 3]), worN=8)[1]
signal.bilinear(xp.asarray([1.0]), xp.asarray([1.0, 2.0]))[0]
stats.gmean(x, axis=1)
stats.hmean(x, axis=1)
stats.pmean(x, 2, axis=1)
stats.skew(x, axis=1)
stats.kurtosis(x, axis=1)
stats.moment(x, 3, axis=1)
stats.describe(x, axis=1).variance
stats.zscore(x, axis=1)
stats.gzscore(x, axis=1)
stats.zmap(x, x)
stats.sem(x, axis=1)
stats.variation(x, axis=1)
stats.entropy(x, axis=1)
stats.tmean(x, axis=1)
stats.tvar(x, axis=1)
stats.circmean(x, axis=1)
stats.circstd(x, axis=1)
stats.pearsonr(x, y, axis=1).statistic
stats.pearsonr(x, y, axis=1).pvalue
stats.ttest_ind(x, y, axis=1).statistic
stats.ttest_ind(x, y, axis=1).pvalue
stats.ttest_1samp(x, 1.0, axis=1).pvalue
stats.ttest_rel(x, y, axis=1).pvalue
stats.chisquare(x, axis=1).statistic
stats.power_divergence(x, axis=1).statistic
stats.skewtest(xp.concat([x, y, x], axis=1), axis=1).pvalue
stats.kurtosistest(xp.concat([x, y, x], axis=1), axis=1).pvalue
stats.normaltest(xp.concat([x, y, x], axis=1), axis=1).pvalue
stats.jarque_bera(x, axis=1).pvalue
stats.bartlett(x[0], x[1]).statistic
stats.combine_pvalues(x[0] / 10).pvalue
stats.differential_entropy(x, axis=1)
stats.directional_stats(x).mean_direction
stats.rankdata(x, axis=1)
stats.iqr(x, axis=1)
stats.trim_mean(x, 0.1, axis=1)
stats.bws_test(x[0], x[1]).statistic
stats.mannwhitneyu(x, y, axis=1).statistic
stats.kstat(x, 2, axis=1)
stats.quantile(x, 0.3, axis=1)
stats.spearmanrho(x, y, axis=1).statistic
stats.boxcox_llf(0.5, x[0])
stats.false_discovery_control(x[0] / 10)
stats.lmoment(x, axis=1)
stats.f_oneway(x[0], x[1]).statistic
stats.levene(x[0], x[1]).statistic
stats.fligner(x[0], x[1]).statistic
stats.linregress(x[0], x[1]).slope
stats.obrientransform(x[0])[0]
stats.sigmaclip(x[0])[0]
stats.mode(x, axis=1).mode
stats.Normal(mu=x[0]).pdf(y[0])
stats.Normal(mu=x[0]).cdf(y[0])
stats.monte_carlo_test(x[0], lambda size: xp.ones(size), lambda v, axis: xp.mean(v, axis=axis)).statistic
stats.bootstrap((x[0],), xp.mean, n_resamples=5).standard_error * 0
stats.permutation_test((x[0], y[0]), lambda u, v, axis: xp.mean(u, axis=axis) - xp.mean(v, axis=axis), n_resamples=5).statistic
scipy.fft.fft(x)
scipy.fft.rfft(x)
scipy.fft.dct(x)
scipy.fft.fht(x, 0.1, 0.5)
scipy.fft.fftshift(x)
scipy.linalg.inv(x[:, :2])
scipy.linalg.solve(x[:, :2], x[:, 0])
scipy.linalg.expm(x[:, :2])
scipy.linalg.block_diag(x, x)
scipy.ndimage.gaussian_filter(x, 1.0)
scipy.cluster.vq.whiten(x)
scipy.cluster.vq.vq(x.T, x.T[:2, :])[1]
scipy.cluster.hierarchy.linkage(x.T)
scipy.spatial.distance.pdist(x.T)
scipy.spatial.distance.cdist(x.T, x.T)
Rotation.from_rotvec(x[:, :3]).as_matrix()
Rotation.from_quat(x[:, :4]).as_euler('xyz')
scipy.constants.convert_temperature(x, 'C', 'K')
scipy.optimize.rosen(x)
scipy.optimize.rosen_der(x[0])
scipy.interpolate.PchipInterpolator(xp.arange(6.0), x[0])(1.5)
scipy.interpolate.CubicSpline(xp.arange(6.0), x[0])(xp.asarray([1.5, 2.5]))
scipy.interpolate.BarycentricInterpolator(xp.arange(6.0), x[0])(xp.asarray([1.5]))
scipy.interpolate.make_interp_spline(xp.arange(6.0), x[0])(xp.asarray([1.5]))
scipy.interpolate.RegularGridInterpolator((xp.arange(2.0), xp.arange(6.0)), x)(xp.asarray([[0.5, 1.5]]))
scipy.interpolate.AAA(xp.arange(6.0), x[0])(xp.asarray([1.5]))
scipy.interpolate.RBFInterpolator(x.T, x[0])(x.T)
"""

SKLEARN = """
decomposition.PCA(n_components=2, svd_solver='full').fit(x).components_
decomposition.PCA(n_components=2, svd_solver='full').fit_transform(x)
decomposition.PCA(n_components=2, svd_solver='covariance_eigh').fit_transform(x)
decomposition.PCA(n_components=2, svd_solver='randomized', random_state=0, power_iteration_normalizer='QR').fit_transform(x)
linear_model.Ridge(solver='svd').fit(x, r).coef_
linear_model.Ridge(solver='svd').fit(x, r).predict(x)
linear_model.RidgeCV().fit(x, r).coef_
linear_model.RidgeClassifier(solver='svd').fit(x, y).predict(x)
preprocessing.StandardScaler().fit_transform(x)
preprocessing.MinMaxScaler().fit_transform(x)
preprocessing.MaxAbsScaler().fit_transform(x)
preprocessing.Normalizer().fit_transform(x)
preprocessing.Binarizer().fit_transform(x)
preprocessing.KernelCenterer().fit_transform(x[:4, :])
preprocessing.PolynomialFeatures().fit_transform(x)
preprocessing.LabelEncoder().fit_transform(y)
preprocessing.normalize(x)
preprocessing.LabelBinarizer().fit_transform(y)
preprocessing.FunctionTransformer(lambda v: v * 2).fit_transform(x)
discriminant_analysis.LinearDiscriminantAnalysis(solver='svd').fit(x, y).predict(x)
discriminant_analysis.LinearDiscriminantAnalysis(solver='svd').fit(x, y).predict_proba(x)
mixture.GaussianMixture(2, random_state=0, init_params='random').fit(x).means_
mixture.GaussianMixture(2, random_state=0, init_params='random_from_data').fit(x).predict(x)
naive_bayes.GaussianNB().fit(x, y).predict_proba(x)
linear_model.LogisticRegression(solver='lbfgs').fit(x, y).coef_
linear_model.PoissonRegressor().fit(x, xp.exp(r / 4)).coef_
metrics.r2_score(r, r * 1.1)
metrics.mean_squared_error(r, r * 1.1)
metrics.accuracy_score(y, y)
metrics.zero_one_loss(y, y)
metrics.f1_score(y, 1 - y)
metrics.confusion_matrix(y, 1 - y)
metrics.log_loss(y, x[:, 0] * 0 + 0.3)
metrics.brier_score_loss(y, x[:, 0] * 0 + 0.3)
metrics.roc_curve(y, x[:, 0])[0]
metrics.roc_auc_score(y, x[:, 0])
metrics.precision_recall_curve(y, x[:, 0])[0]
metrics.explained_variance_score(r, r * 1.1)
metrics.mean_absolute_percentage_error(r, r * 1.1)
metrics.d2_tweedie_score(abs(r), abs(r) * 1.1)
metrics.mean_pinball_loss(r, r * 1.1)
metrics.pairwise.euclidean_distances(x)
metrics.pairwise.cosine_similarity(x)
metrics.pairwise.rbf_kernel(x)
metrics.pairwise.polynomial_kernel(x)
metrics.pairwise.linear_kernel(x)
metrics.pairwise.sigmoid_kernel(x)
metrics.pairwise.laplacian_kernel(x)
metrics.pairwise.manhattan_distances(x)
metrics.pairwise.chi2_kernel(abs(x))
metrics.pairwise.additive_chi2_kernel(abs(x))
metrics.pairwise.paired_euclidean_distances(x, x * 2)
metrics.pairwise.pairwise_distances(x, metric='cosine')
metrics.cluster.entropy(y)
model_selection.train_test_split(x, random_state=0)[0]
model_selection.cross_val_score(linear_model.Ridge(solver='svd'), x, r, cv=3)
model_selection.cross_val_predict(linear_model.Ridge(solver='svd'), x, r, cv=3)
pipeline.make_pipeline(preprocessing.StandardScaler(), linear_model.Ridge(solver='svd')).fit(x, r).predict(x)
kernel_approximation.Nystroem(n_components=5, random_state=0).fit_transform(x)
covariance.empirical_covariance(x)
covariance.LedoitWolf().fit(x).covariance_
gaussian_process.kernels.RBF()(x)
utils.extmath.randomized_svd(x, 2, random_state=0, power_iteration_normalizer='QR')[1]
utils.extmath.softmax(x)
linear_model.LinearRegression().fit(x, r).coef_
cluster.KMeans(2, n_init=1, random_state=0).fit(x).cluster_centers_
neighbors.KNeighborsClassifier(3).fit(x, y).predict(x)
impute.SimpleImputer().fit_transform(x)
feature_selection.f_regression(x, r)[0]
calibration.CalibratedClassifierCV(discriminant_analysis.LinearDiscriminantAnalysis(solver='svd'), method='temperature', cv=3).fit(x, y).predict_proba(x)
"""

XARRAY = """
X(x) + 1
X(x).sum('a')
X(x).mean()
X(x).std('b')
X(x).sel(a=20)
X(x).isel(b=slice(1, 3))
X(x) * X(x).isel(a=0)
X(x).T
X(x).where(X(x) > 1)
X(x).where(X(x) > 1, 0)
np.sin(X(x))
X(x).max('a')
X(x).argmax('b')
X(x).cumsum('a')
X(x).rolling(b=2).mean()
X(x).diff('a')
X(x).shift(a=1)
X(x).roll(a=1)
X(x).clip(1, 2)
X(x).stack(z=('a', 'b'))
X(x).expand_dims('q')
xr.concat([X(x), X(x)], 'a')
X(x).dot(X(x))
xr.dot(X(x), X(x), dim='a')
X(x).fillna(0)
X(x).isnull()
X(x).median('a')
X(x).quantile(0.3, 'a')
X(x).groupby('a').mean()
X(x).coarsen(a=2).mean()
X(x).interp(a=15)
X(x).astype('float32')
X(x).var('a')
X(x).prod('a')
X(x).sortby('a', ascending=False)
X(x).pad(a=1)
X(x).reduce(np.sum, 'a')
xr.apply_ufunc(lambda q: q * 2, X(x))
X(x).to_dataset().sum('a')['n']
X(x).differentiate('a')
X(x).integrate('a')
X(x).all()
X(x).any('a')
X(x).count('a')
X(x).polyfit('a', 1).polyfit_coefficients
xr.corr(X(x), X(x), 'a')
X(x).weighted(xr.DataArray(x[:, 0], dims='a')).mean('a')
xr.full_like(X(x), 3)
xr.zeros_like(X(x))
X(x).reindex(a=[10, 15, 20])
X(x).dropna('a')
X(x).copy(deep=True)
X(x).broadcast_like(X(x))
X(x).idxmax('a')
X(x).squeeze()
X(x).transpose('b', 'a')
X(x).round(1)
X(x).isin([0.0])
X(x) // 0.5
X(x) % 0.5
X(x) ** 2
abs(X(x))
-X(x)
"""

DASK = """
d
d + 1
d.sum()
d.sum(axis=0)
d.mean(axis=1)
d.std()
d.T
d[1:, ::2]
d[d > 1]
da.sin(d)
np.sin(d)
d @ d.T
d.max()
d.argmax(axis=1)
d.cumsum(axis=0)
d.rechunk((4, 2))
da.concatenate([d, d])
da.stack([d, d])
da.where(d > 1, d, 0)
d.astype('float32')
d.map_blocks(lambda b: b * 2)
d.map_overlap(lambda b: b + 1, depth=1, boundary='reflect')
da.tensordot(d, d, axes=((0,), (0,)))
da.einsum('ij,kj->ik', d, d)
d.dot(d.T)
da.linalg.norm(d)
da.fft.fft(d.rechunk((2, 6)))
d.var(axis=0)
da.percentile(d[0], 30)
da.histogram(d, bins=4, range=(0, 4))[0]
da.unique(da.round(d))
d.prod()
d.any()
da.isnan(d)
d.min(axis=0, keepdims=True)
da.topk(d[0], 2)
d.clip(1, 2)
da.roll(d, 1, axis=0)
da.pad(d, 1)
da.linalg.svd(d.rechunk((2, 6)))[1]
da.median(d, axis=0)
da.cov(d)
da.diff(d)
da.outer(d[0], d[1])
d.ravel()
d.transpose()
d - d.mean(axis=0)
d[[0, 2]]
d[:, None]
da.coarsen(np.sum, d, {0: 2})
d.nonzero()[0]
da.apply_along_axis(np.sum, 0, d)
da.searchsorted(d[0], d[0])
da.nansum(d)
da.nanmean(d)
da.arctan2(d, d)
da.vstack([d, d])
da.broadcast_to(d, (2, 4, 6))
da.tril(d)
da.isin(d, [0.0])
da.digitize(d, [0.0, 1])
da.bincount(da.round(d).astype('int64').ravel(), minlength=5)
da.maximum(d, 1)
da.linalg.solve(d[:, :4].rechunk((4, 4)) + da.eye(4), d[:, :1].rechunk((4, 1)))
d.reshape(24)
da.linalg.qr(d[:, :2].rechunk((2, 2)))[1]
"""

COMPAT = """
array_api_compat.array_namespace(x) is xp or array_api_compat.is_numpy_array(x)
array_api_compat.is_array_api_obj(x)
array_api_compat.is_lazy_array(x)
array_api_compat.is_writeable_array(x)
array_api_compat.size(x)
array_api_compat.to_device(x, 'cpu')
array_api_compat.array_namespace(x, 1.0).sum(x)
"""
EINOPS = """
array_api.rearrange(x, 'a (b c) -> b a c', b=2)
array_api.reduce(x, 'a b -> a', 'sum')
array_api.reduce(x, 'a (b c) -> a b', 'max', c=3)
array_api.repeat(x, 'a b -> a b c', c=2)
array_api.pack([x, x], 'a *')[0]
array_api.unpack(x, [[2], [4]], 'a *')[0]
einops.rearrange(x, 'a b -> b a')
einops.einsum(x, x, 'a b, c b -> a c')
"""
OPT_EINSUM = """
opt_einsum.contract('ij,kj->ik', x, x)
opt_einsum.contract('ij,kj,kl->il', x, x, x)
opt_einsum.contract('ij->', x)
opt_einsum.contract('ij,ij->i', x, x)
opt_einsum.contract_expression('ij,kj->ik', (2, 6), (2, 6))(x, x)
"""
PANDAS = """
pandas.DataFrame(x).to_numpy()
pandas.Series(x[0]).sum()
"""

ITS_OWN = "the function computes with NumPy, whatever it is given"
VIEWS = "the function writes through a view, and sinter's arrays are values"
NUMPY_TYPES = "the function requires one of NumPy's own element types"
LIMITS = {
    "integrate.simpson(x, axis=1)": ITS_OWN, "signal.welch(x[0], nperseg=4)[1]": ITS_OWN, "stats.linregress(x[0], x[1]).slope": ITS_OWN, "stats.obrientransform(x[0])[0]": ITS_OWN,
    "stats.Normal(mu=x[0]).pdf(y[0])": ITS_OWN, "stats.Normal(mu=x[0]).cdf(y[0])": ITS_OWN, "scipy.linalg.inv(x[:, :2])": ITS_OWN, "scipy.linalg.solve(x[:, :2], x[:, 0])": ITS_OWN,
    "scipy.linalg.expm(x[:, :2])": ITS_OWN, "scipy.spatial.distance.cdist(x.T, x.T)": ITS_OWN, "scipy.interpolate.BarycentricInterpolator(xp.arange(6.0), x[0])(xp.asarray([1.5]))": ITS_OWN,
    "scipy.interpolate.AAA(xp.arange(6.0), x[0])(xp.asarray([1.5]))": ITS_OWN, "signal.sosfilt(xp.asarray([[1.0, 2, 1, 1, 0, 0]]), x)": "the function's compiled code requires a writable array",
    "integrate.nsum(lambda k: 1 / k**2, xp.asarray(1.0), xp.asarray(xp.inf)).sum": VIEWS,
    "scipy.interpolate.PchipInterpolator(xp.arange(6.0), x[0])(1.5)": VIEWS,
    "mixture.GaussianMixture(2, random_state=0, init_params='random').fit(x).means_": VIEWS, "mixture.GaussianMixture(2, random_state=0, init_params='random_from_data').fit(x).predict(x)": VIEWS,
    "covariance.LedoitWolf().fit(x).covariance_": VIEWS,
    "cluster.KMeans(2, n_init=1, random_state=0).fit(x).cluster_centers_": ITS_OWN, "model_selection.cross_val_score(linear_model.Ridge(solver='svd'), x, r, cv=3)": ITS_OWN,
    "gaussian_process.kernels.RBF()(x)": ITS_OWN, "neighbors.KNeighborsClassifier(3).fit(x, y).predict(x)": ITS_OWN,
    "einops.rearrange(x, 'a b -> b a')": "einops knows its own list of types; einops.array_api takes the array", "einops.einsum(x, x, 'a b, c b -> a c')": "einops knows its own list of types; einops.array_api takes the array",
    "X(x).interp(a=15)": ITS_OWN, "da.percentile(d[0], 30)": "Dask has its own list of types for this function", "d.nonzero()[0]": ITS_OWN,
    "da.linalg.solve(d[:, :4].rechunk((4, 4)) + da.eye(4), d[:, :1].rechunk((4, 1)))": ITS_OWN, "pandas.DataFrame(x).to_numpy()": ITS_OWN, "pandas.Series(x[0]).sum()": ITS_OWN,
}
LIMITS |= {text: NUMPY_TYPES for text in XARRAY.splitlines() if any(word in text for word in ("where(X(x) > 1)", "rolling", "shift", "pad(", "xr.corr", "weighted", "reindex", "idxmax"))}


def of_scipy():
    import scipy
    import scipy.optimize.elementwise as oe
    from scipy import differentiate, integrate, signal, special, stats
    from scipy.spatial.transform import Rotation

    for name in "cluster.hierarchy cluster.vq constants fft interpolate linalg ndimage optimize spatial.distance".split():
        importlib.import_module("scipy." + name)
    a = numpy.array([[0.5, 1.5, 2.0, 4.0, 3.5, 1.0], [1.0, 2.5, 0.3, 0.7, 5.0, 2.2]])
    b = numpy.array([[1.5, 0.5, 2.7, 4.1, 3.0, 0.2], [1.7, 2.9, 0.6, 0.1, 4.0, 3.3]])
    return locals() | {"x": a, "y": b}


def of_sklearn():
    import sklearn

    sklearn.set_config(array_api_dispatch=True)
    names = ("calibration cluster covariance cross_decomposition decomposition discriminant_analysis feature_selection gaussian_process impute kernel_approximation linear_model metrics mixture "
             "model_selection naive_bayes neighbors pipeline preprocessing utils").split()
    found = {name: importlib.import_module("sklearn." + name) for name in names}
    numbers = numpy.random.default_rng(0)
    x = numbers.normal(size=(40, 4))
    return found | {"x": x, "y": (x[:, 0] + 0.3 * x[:, 1] > 0).astype("int64"), "r": x @ [1.0, 2, -1, 0.5] + 0.1 * numbers.normal(size=40)}


TABLE = numpy.arange(24.0).reshape(4, 6) / 7


def of_xarray():
    import xarray as xr

    return {"xr": xr, "np": numpy, "X": lambda v: xr.DataArray(v, dims=("a", "b"), coords={"a": [10, 20, 30, 40]}, name="n"), "x": TABLE}


def of_dask():
    import dask
    import dask.array as da

    dask.config.set(scheduler="synchronous")
    da.register_chunk_type(sinter.Array)
    return {"da": da, "np": numpy, "d": TABLE, "chunked": lambda v: da.from_array(v, chunks=(2, 3), asarray=False)}


def of_einops():
    import einops
    from einops import array_api

    return {"einops": einops, "array_api": array_api, "x": TABLE}


def plain(name):
    return lambda: {name: importlib.import_module(name), "x": TABLE}


# Each module has its name in the table, a function that returns the names that its calls use, and the calls.
LIBRARIES = {"scipy": ("SciPy, SCIPY_ARRAY_API=1", of_scipy, SCIPY), "sklearn": ("scikit-learn, array_api_dispatch=True", of_sklearn, SKLEARN),
             "array_api_compat": ("array-api-compat", plain("array_api_compat"), COMPAT), "xarray": ("xarray", of_xarray, XARRAY),
             "dask": ("Dask, sinter's arrays as chunks", of_dask, DASK), "einops": ("einops", of_einops, EINOPS), "opt_einsum": ("opt_einsum", plain("opt_einsum"), OPT_EINSUM),
             "pandas": ("pandas", plain("pandas"), PANDAS)}
CALLS = [(library, text) for library, (_, _, texts) in LIBRARIES.items() for text in texts.strip().splitlines()]
found = {}


def value(text, names, take, xp):
    """Makes the call with arrays of one library, and computes the result if another library delays that."""
    given = {name: take(array) if isinstance(array, numpy.ndarray) else array for name, array in names.items()} | {"xp": xp}
    if "chunked" in names:
        given["d"] = names["chunked"](given["d"])
    made = eval(text, given)
    made = made.data if type(made).__name__ == "DataArray" else made
    return made.compute() if hasattr(made, "compute") else made


def problem(library, text):
    """Returns why a call's result differs from NumPy's, or an empty text if it does not."""
    if library not in found:
        found[library] = LIBRARIES[library][1]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = value(text, found[library], lambda a: a.copy(), numpy)
        try:
            got = value(text, found[library], sinter.asarray, sinter)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        if not isinstance(got, sinter.Array) and (type(got) is not type(wanted) or isinstance(got, (numpy.ndarray, numpy.generic))):
            return f"the result is {type(got).__module__}.{type(got).__name__}"
        ours, theirs = numpy.asarray(got), numpy.asarray(wanted)
        if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
            return f"the result is {ours.dtype} {ours.shape}, NumPy's is {theirs.dtype} {theirs.shape}"
        if any(word in text for word in ("PCA", "qr", "svd(")):
            ours, theirs = abs(ours), abs(theirs)  # the signs are arbitrary
        tolerance = 1e-5 if any(word in text for word in ("Logistic", "Poisson", "Calibrated")) else 1e-9
        return "" if ours.dtype == bool and (ours == theirs).all() or numpy.allclose(ours, theirs, rtol=tolerance, atol=tolerance, equal_nan=True) else "other values"


@pytest.mark.long
@pytest.mark.parametrize("library, text", CALLS, ids=[f"{library}: {text}" for library, text in CALLS])
def test_client(library, text):
    pytest.importorskip(library)
    reason = problem(library, text)
    if text in LIMITS:
        assert reason, f"this call is in LIMITS and works now ({LIMITS[text]})"
        pytest.xfail(LIMITS[text])
    assert not reason, reason


def test_limits_are_calls():
    assert set(LIMITS) <= {text for _, text in CALLS}, set(LIMITS) - {text for _, text in CALLS}


@pytest.mark.long
def test_notebooks_of_xarray():
    xr = pytest.importorskip("xarray")
    made = xr.DataArray(sinter.zeros((2, 3)))
    assert "sinter" in repr(made) or "array(" in repr(made)
    assert made._repr_html_() and made.values.shape == (2, 3)


def report():
    """Gives the lines of the page."""
    yield "# Libraries that compute with sinter's arrays"
    yield ""
    yield "`python python/tests/test_clients.py > docs/python-clients.md` writes this page from a run: each call is made with arrays of sinter and of NumPy, and counts if"
    yield "the result is an array of sinter (or a number of Python where NumPy gives one) with NumPy's shape, type and values."
    yield ""
    yield "| library | version | calls | as with NumPy |"
    yield "|---|---|---|---|"
    failed = collections.defaultdict(list)
    for library, (name, _, texts) in LIBRARIES.items():
        try:
            version = importlib.import_module(library).__version__
        except ImportError:
            continue
        calls = texts.strip().splitlines()
        problems = {text: problem(library, text) for text in calls}
        yield f"| {name} | {version} | {len(calls)} | {sum(not reason for reason in problems.values())} |"
        for text, reason in problems.items():
            if reason:
                failed[LIMITS.get(text) or reason.splitlines()[0][:160]].append((library, text))
    yield ""
    yield "## What does not work"
    yield ""
    yield "| reason | calls |"
    yield "|---|---|"
    for reason, calls in failed.items():
        cells = "; ".join("`" + text.replace("|", "\\|") + "`" for _, text in calls)
        yield f"| {reason} | {cells} |"
    yield ""
    yield "A library that writes through a view gets a `sinter.ViewWarning` at the line that writes. `torch.asarray(x)` reads the buffer of an array as one axis; `torch.from_dlpack(x)` and"
    yield "`torch.as_tensor(x)` keep its shape. PyTorch's operators refuse sinter's arrays, and sinter's operators refuse tensors: `sinter.asarray(t)` converts a tensor first."


if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    print("\n".join(report()))
