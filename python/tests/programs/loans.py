import sinter as np
cashflows = np.array([-1000, 200, 300, 400, 500], dtype=float)
def npv(rate, cf):
    t = np.arange(cf.size)
    return (cf / (1 + rate) ** t).sum()
lo, hi = 0.0, 1.0
while hi - lo > 1e-10:
    mid = (lo + hi) / 2
    if npv(mid, cashflows) > 0:
        lo = mid
    else:
        hi = mid
print("IRR: {:.4%}".format(mid))
balance = 250_000.0
rate = 0.035 / 12
n = 360
payment = balance * rate / (1 - (1 + rate) ** -n)
interest_paid = 0
for month in range(1, n + 1):
    interest = balance * rate
    principal = payment - interest
    balance -= principal
    interest_paid += interest
    if month % 120 == 0:
        print(f"month {month:>3}: balance {balance:>12,.2f} interest so far {interest_paid:,.2f}")
