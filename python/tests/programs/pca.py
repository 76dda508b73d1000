import sinter as np
X = np.array([[2.5, 2.4], [0.5, 0.7], [2.2, 2.9], [1.9, 2.2], [3.1, 3.0], [2.3, 2.7], [2, 1.6], [1, 1.1], [1.5, 1.6], [1.1, 0.9]])
Xc = X - X.mean(axis=0)
C = np.cov(Xc, rowvar=False)
vals, vecs = np.linalg.eigh(C)
order = np.argsort(vals)[::-1]
vals, vecs = vals[order], vecs[:, order]
print(vals, vals / vals.sum())
proj = Xc @ vecs[:, :1]
print(np.abs(proj).ravel())
recon = proj @ vecs[:, :1].T + X.mean(axis=0)
print(np.sqrt(((X - recon)**2).mean()))
U, S, Vt = np.linalg.svd(Xc, full_matrices=False)
print(S**2 / (len(X) - 1))
