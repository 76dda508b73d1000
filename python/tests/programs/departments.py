import sinter as np
dept = np.array([0, 1, 0, 2, 1, 0])
salary = np.array([100, 200, 150, 300, 250, 125])
names = ["sales", "dev", "ops"]
for d in np.unique(dept):
    sel = salary[dept == d]
    print(f"{names[d]:<6}|{sel.mean():8.2f}|{sel.max():5d}|{len(sel)}")
total = np.bincount(dept, weights=salary)
n = np.bincount(dept)
print(total / n)
order = np.lexsort((-salary, dept))
print(dept[order], salary[order])
first = np.r_[True, np.diff(dept[order]) != 0]
print("top per group", salary[order][first])
ranks = np.argsort(np.argsort(-salary)) + 1
print(ranks)
pivot = np.zeros((3, 2))
np.add.at(pivot, (dept, (salary > 150).astype(int)), salary)
print(pivot)
