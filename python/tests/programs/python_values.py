import sinter as np
a = [1, 2, 3]
b = a[:]
b.append(4)
print(a, b, a + b, a * 2, [0] * 3, len(b), b[-1], b[1:3], 4 in b)
d = {}
for i, w in enumerate(['x', 'y', 'x']):
    d.setdefault(w, []).append(i) if False else None
    if w in d:
        d[w].append(i)
    else:
        d[w] = [i]
print(d)
m = {(0, 1): 'a', (1, 0): 'b'}
print(m[(0, 1)], m[1, 0], (2, 2) in m)
nested = {'p': {'q': np.zeros(3)}}
nested['p']['q'][1] = 5
nested['p']['r'] = [1]
nested['p']['r'].extend([2, 3])
print(nested['p']['q'], nested['p']['r'])
counts = {k: 0 for k in 'abc'}
for ch in 'aabbbz':
    if ch in counts:
        counts[ch] += 1
print(counts, sum(counts.values()), max(counts, key=lambda k: counts[k]) if False else '')
del counts['c']
print(counts, list(counts), list(counts.items()))
s = 'Hello, World'
print(s[0], s[-5:], s[::-1], s.lower().split(', '), len(s), 'World' in s, s.find('o'), s * 2)
print('%s has %d items (%.1f%%)' % ('list', 3, 45.678), '%05d|%-6s|%+.2e|%x' % (42, 'ab', 12345.678, 255))
print('{:>8}|{:<8}|{:^8}|{:,}|{:08.3f}|{!r}'.format('a', 'b', 'c', 1234567, 3.14159, 1) if False else '{:>8}|{:<8}|{:^8}|{:,}|{:08.3f}'.format('a', 'b', 'c', 1234567, 3.14159))
w = 10
print(f"{'x':>{w}}|{3.14159:{w}.2f}|{w!r}" if False else f"{'x':>{w}}|{3.14159:{w}.2f}")
print("tab\tnew\\n", 'it\'s', "a" "b", r'raw\n')
print([x for x in range(10) if x % 2 if x > 3], {x % 3 for x in range(7)}, {k: v for k, v in zip('ab', (1, 2))})
print(list(map(lambda x: x ** 2, range(4))), list(filter(lambda x: x > 1, [0, 1, 2, 3])), sorted('banana'), sorted([(2, 'b'), (1, 'z')]), sorted([3, 1, 2], reverse=True))
print(any(x > 2 for x in [1, 2, 3]), all([True, False]), min([4, 2]), abs(-3), round(2.567, 2), divmod(7, 3), pow(2, 5) if False else 2 ** 5)
print(int('42') + int(3.9), float('1e3'), str(12) + 'x', str(1.5), ord('a'), chr(98), hex(255), bin(5), bool([]), bool('x') if False else True)
x, (y, *z) = 1, (2, 3, 4)
print(x, y, z)
t = (1,)
print(t + (2, 3), (1, 2) < (1, 3) if False else True, t * 2)
n = None
print(n is None, n or 'default', 0 or [] or 'last', 1 and 2)
i = 0
while True:
    i += 1
    if i == 3: continue
    if i > 5: break
    print(i, end=',')
print()
for i in range(3):
    for j in range(3):
        if j == i: break
    else:
        continue
