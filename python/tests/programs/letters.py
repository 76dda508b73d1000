import sinter as np
text = "the quick brown fox jumps over the lazy dog and the cat"
codes = np.array([ord(c) for c in text])
letters = codes[(codes >= ord('a')) & (codes <= ord('z'))] - ord('a')
counts = np.bincount(letters, minlength=26)
order = np.argsort(-counts, kind='stable')
for i in order[:5]:
    print(chr(ord('a') + i), counts[i])
words = text.split()
lengths = np.array([len(w) for w in words])
print(len(words), lengths.mean(), np.bincount(lengths))
shifted = (letters + 3) % 26 + ord('a')
print(''.join(chr(c) for c in shifted))
print(sorted(words, key=len)[-1], len(set(words)))
