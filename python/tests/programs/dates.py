import sinter as np
# day numbers without datetime
def is_leap(y):
    return (y % 4 == 0) & ((y % 100 != 0) | (y % 400 == 0))
years = np.arange(1896, 1912)
print(years[is_leap(years)])
mdays = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
starts = np.concatenate([[0], np.cumsum(mdays)[:-1]])
def day_of_year(y, m, d):
    return starts[m - 1] + d + ((m > 2) & is_leap(y))
y = np.array([2000, 2001, 2023, 2024]); m = np.array([3, 3, 12, 2]); d = np.array([1, 1, 31, 29])
print(day_of_year(y, m, d))
def weekday(y, m, d):  # Zeller
    mm = np.where(m < 3, m + 12, m)
    yy = np.where(m < 3, y - 1, y)
    return (d + (13 * (mm + 1)) // 5 + yy + yy // 4 - yy // 100 + yy // 400) % 7
print(weekday(y, m, d))
def julian(y, m, d):
    a = (14 - m) // 12
    yy = y + 4800 - a
    mm = m + 12 * a - 3
    return d + (153 * mm + 2) // 5 + 365 * yy + yy // 4 - yy // 100 + yy // 400 - 32045
print(julian(y, m, d), np.diff(julian(y, m, d)))
stamps = np.array([20231231, 20240229])
print(stamps // 10000, stamps // 100 % 100, stamps % 100)
secs = np.array([3661, 86399])
h, rem = np.divmod(secs, 3600)
mi, s = np.divmod(rem, 60)
for t in zip(h, mi, s):
    print("%02d:%02d:%02d" % t)
