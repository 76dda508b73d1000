import sinter as np
text = """it was the best of times it was the worst of times
it was the age of wisdom it was the age of foolishness"""
counts = {}
for w in text.split():
    counts[w] = counts.get(w, 0) + 1
top = sorted(counts.items(), key=lambda kv: (-kv[1], kv[0]))[:4]
for w, c in top:
    print(f"{w:<8}{c:>3}")
lengths = np.array([len(w) for w in counts])
freq = np.array(list(counts.values()))
print((lengths * freq).sum(), np.average(lengths, weights=freq).round(4))
vowels = sum(text.count(v) for v in 'aeiou')
letters = np.bincount([ord(c) - 97 for c in text if c.isalpha()], minlength=26)
print(vowels, letters, chr(97 + int(letters.argmax())))
print("-".join(w.upper() for w in text.split()[:3]), text.replace("it", "IT").splitlines()[1][:12])
entropy = -(letters[letters > 0] / letters.sum() * np.log2(letters[letters > 0] / letters.sum())).sum()
print("entropy {0:.4f} bits, {1} letters".format(entropy, letters.sum()))
