import sinter as np
stock = {'bolt': 120, 'nut': 80, 'gear': 5}
orders = [('bolt', 20), ('gear', 7), ('nut', 80), ('bolt', 50)]
backlog = {}
for item, qty in orders:
    if stock[item] >= qty:
        stock[item] -= qty
    else:
        backlog[item] = backlog.get(item, 0) + qty - stock[item]
        stock[item] = 0
print(stock, backlog)
prices = np.array([0.1, 0.05, 12.5])
value = sum(n * p for n, p in zip(stock.values(), prices))
print("total value: %.2f" % value)
for k in sorted(stock, key=lambda name: -stock[name]):
    print("{:>6} {:5d}".format(k, stock[k]))
low = [k for k, v in stock.items() if v < 10]
print(low, 'gear' in backlog, len(stock))
