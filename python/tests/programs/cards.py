import sinter as np
deck = np.arange(52)
suit, rank = np.divmod(deck, 13)
perm = (deck * 17 + 5) % 52
hand = np.sort(deck[perm][:5])
print(hand, suit[hand], rank[hand])
counts = np.bincount(rank[hand], minlength=13)
kinds = np.sort(counts[counts > 0])[::-1]
names = {(4, 1): "four", (3, 2): "full house", (3, 1, 1): "three", (2, 2, 1): "two pair", (2, 1, 1, 1): "pair"}
print(names.get(tuple(kinds.tolist()), "high card"))
is_flush = len(set(suit[hand].tolist())) == 1
is_straight = np.ptp(rank[hand]) == 4 and len(np.unique(rank[hand])) == 5
print(is_flush, is_straight)
