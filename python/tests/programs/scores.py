import sinter as np
scores = np.array([[9, 1], [8, 0], [10, 0], [5, 5], [7, 2]])
total = 0
for k, (a, b) in enumerate(scores):
    total += a + b
    if a == 10 and k + 1 < len(scores):
        total += scores[k + 1].sum()
    elif a + b == 10 and k + 1 < len(scores):
        total += scores[k + 1, 0]
print(total, scores.sum(1).tolist())
players = ['ann', 'bob', 'cy']
pts = np.array([[12, 15, 9], [14, 11, 13], [10, 16, 12]])
rank = (-pts.sum(axis=1)).argsort(kind='stable')
for place, i in enumerate(rank, start=1):
    print(f"{place}. {players[i].title():<5} {pts[i].sum():>3} best={pts[i].max()}")
wins = {p: int((pts.argmax(axis=0) == i).sum()) for i, p in enumerate(players)}
print(wins, {v for v in wins.values()} == {0, 1}, max(wins.values()))
elo = np.array([1500., 1600.])
expected = 1 / (1 + 10 ** ((elo[::-1] - elo) / 400))
print((elo + 32 * (np.array([1, 0]) - expected)).round(2))
