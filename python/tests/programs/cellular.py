import sinter as np
def rule(n, width=31, steps=8):
    bits = np.array([int(b) for b in np.binary_repr(n, 8)][::-1]) if False else np.array([(n >> i) & 1 for i in range(8)])
    row = np.zeros(width, dtype=int)
    row[width // 2] = 1
    rows = [row]
    for _ in range(steps):
        code = 4 * np.roll(row, 1) + 2 * row + np.roll(row, -1)
        row = bits[code]
        rows.append(row)
    return np.array(rows)
for r in rule(30):
    print("".join([".#"[c] for c in r]))
print(rule(90).sum(axis=1), rule(110).sum())
forest = np.array([[1, 1, 0], [0, 2, 1], [1, 1, 1]])
burning = forest == 2
near = np.zeros_like(burning)
near[1:] |= burning[:-1]; near[:-1] |= burning[1:]; near[:, 1:] |= burning[:, :-1]; near[:, :-1] |= burning[:, 1:]
forest[near & (forest == 1)] = 2
forest[burning] = 0
print(forest)
