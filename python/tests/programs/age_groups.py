import sinter as np
ages = np.array([23, 35, 41, 19, 52, 67, 38, 29])
bins = [0, 25, 40, 60, 100]
labels = ['young', 'adult', 'middle', 'senior']
which = np.digitize(ages, bins) - 1
groups = {}
for age, k in zip(ages.tolist(), which.tolist()):
    if labels[k] not in groups:
        groups[labels[k]] = []
    groups[labels[k]].append(age)
for g in labels:
    print(g, groups.get(g, []), np.mean(groups[g]) if g in groups else '-')
hist, edges = np.histogram(ages, bins=bins)
print(hist, edges)
for h, l in zip(hist, labels):
    print("%-8s|%s" % (l, "*" * h))
z = (ages - ages.mean()) / ages.std(ddof=1)
print(np.abs(z).max().round(4), np.quantile(ages, [.1, .9]), np.corrcoef(ages, ages ** 2)[0, 1].round(6))
