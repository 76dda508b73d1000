import sinter as np
data = np.array([[1.0, np.nan, 3.0], [4.0, 5.0, -999.0], [7.0, 8.0, 9.0], [np.nan, 2.0, 100.0]])
data[data == -999] = np.nan
means = np.nanmean(data, axis=0)
bad = np.isnan(data)
rows, cols = np.where(bad)
data[bad] = np.take(means, cols)
print(data)
z = (data - data.mean(axis=0)) / data.std(axis=0, ddof=1)
print(np.round(z, 3))
keep = np.all(np.abs(z) < 1.4, axis=1)
print(keep, data[keep].shape)
q1, q3 = np.percentile(data[:, 2], [25, 75])
iqr = q3 - q1
print(q1, q3, iqr)
clipped = np.clip(data[:, 2], q1 - 1.5*iqr, q3 + 1.5*iqr)
print(clipped)
