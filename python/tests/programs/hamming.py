import sinter as np
G = np.array([[1,1,0,1],[1,0,1,1],[1,0,0,0],[0,1,1,1],[0,1,0,0],[0,0,1,0],[0,0,0,1]])
H = np.array([[1,0,1,0,1,0,1],[0,1,1,0,0,1,1],[0,0,0,1,1,1,1]])
data = np.array([1, 0, 1, 1])
code = G @ data % 2
bad = code.copy(); bad[4] ^= 1
syndrome = H @ bad % 2
pos = int(syndrome @ [1, 2, 4]) - 1
fixed = bad.copy(); fixed[pos] ^= 1
print(code, bad, syndrome, pos, (fixed == code).all())
bits = np.unpackbits(np.array([5, 255], dtype=np.uint8))
print(bits, np.packbits(bits), np.bitwise_count(np.arange(8)))
x = np.uint32(2463534242)
seq = []
s = np.array([2463534242], dtype=np.uint32)
for _ in range(3):
    s ^= s << np.uint32(13); s ^= s >> np.uint32(17); s ^= s << np.uint32(5)
    seq.append(int(s[0]))
print(seq, hex(255), bin(5), oct(8))
gray = np.arange(8) ^ (np.arange(8) >> 1)
print(gray)
