import sinter as np
arrivals = np.cumsum(np.array([1.2, 0.4, 2.1, 0.3, 0.8, 1.5, 0.2, 0.9]))
service = np.array([1.0, 1.5, 0.7, 1.1, 0.4, 0.9, 1.3, 0.6])
start = np.zeros_like(arrivals)
end = np.zeros_like(arrivals)
for i in range(len(arrivals)):
    start[i] = arrivals[i] if i == 0 else max(arrivals[i], end[i - 1])
    end[i] = start[i] + service[i]
wait = start - arrivals
print("avg wait %.2f, max %.3f, utilisation %.1f%%" % (wait.mean(), wait.max(), 100 * service.sum() / end[-1]))
in_system = (arrivals[:, None] <= end[None, :]) & (end[None, :] > arrivals[:, None])
print(np.tril(in_system).sum(axis=1))
