import sinter as np
P = np.array([[0.9, 0.075, 0.025], [0.15, 0.8, 0.05], [0.25, 0.25, 0.5]])
w, v = np.linalg.eig(P.T)
k = np.argmin(np.abs(w - 1))
pi = np.real(v[:, k])
pi = pi / pi.sum()
print(pi)
state = np.array([0, 1, 0])
for _ in range(50):
    state = state @ P
print(state)
print(np.allclose(pi, state))
print(np.linalg.matrix_power(P, 100)[0])
