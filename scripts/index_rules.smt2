; The rules by which src/fuse/index.cpp simplifies divisions and remainders, each as: assume the opposite; "unsat" proves it.
; Divisors are any positive integers. q is the floor of x / d exactly if d * q <= x < d * q + d. Quotients are written this way here,
; because z3 decides products of unknowns far better than its own div and mod of them.
(set-logic QF_NIA)
(set-option :timeout 20000)

(echo "quotient: (d * q + r) / d = q where 0 <= r < d")
(push) (declare-const d Int) (declare-const q Int) (declare-const r Int) (declare-const f Int)
(assert (> d 0)) (assert (<= 0 r)) (assert (< r d))
(assert (<= (* d f) (+ (* d q) r))) (assert (< (+ (* d q) r) (+ (* d f) d)))
(assert (not (= f q)))
(check-sat) (pop)

(echo "whole terms leave a quotient: (d * q + r) / d = q + r / d")
(push) (declare-const d Int) (declare-const q Int) (declare-const r Int) (declare-const f Int) (declare-const g Int)
(assert (> d 0))
(assert (<= (* d g) r)) (assert (< r (+ (* d g) d)))
(assert (<= (* d f) (+ (* d q) r))) (assert (< (+ (* d q) r) (+ (* d f) d)))
(assert (not (= f (+ q g))))
(check-sat) (pop)

(echo "whole terms leave a remainder: (d * q + r) mod d = r mod d, by the quotient above")
(push) (declare-const d Int) (declare-const q Int) (declare-const r Int) (declare-const g Int)
(assert (> d 0))
(assert (not (= (- (+ (* d q) r) (* d (+ q g))) (- r (* d g)))))
(check-sat) (pop)

(echo "low digits leave a quotient: (g * h + l) / (g * e) = h / e where 0 <= l < g")
(push) (declare-const g Int) (declare-const e Int) (declare-const h Int) (declare-const l Int) (declare-const f Int) (declare-const k Int)
(assert (> g 0)) (assert (> e 0)) (assert (<= 0 l)) (assert (< l g))
(assert (<= (* e k) h)) (assert (< h (+ (* e k) e)))
(declare-const ge Int) (assert (= ge (* g e)))
(assert (<= (* ge f) (+ (* g h) l))) (assert (< (+ (* g h) l) (+ (* ge f) ge)))
(assert (not (= f k)))
(check-sat) (pop)

(echo "low digits leave a remainder: (g * h + l) mod (g * e) = g * (h mod e) + l where 0 <= l < g")
(push) (declare-const g Int) (declare-const e Int) (declare-const h Int) (declare-const l Int) (declare-const k Int) (declare-const m Int)
(assert (> g 0)) (assert (> e 0)) (assert (<= 0 l)) (assert (< l g))
(assert (= h (+ (* e k) m))) (assert (<= 0 m)) (assert (< m e))
; g * m + l is between 0 and g * e, and differs from g * h + l by a multiple of g * e.
(assert (not (and (<= 0 (+ (* g m) l)) (< (+ (* g m) l) (* g e)) (= (- (+ (* g h) l) (+ (* g m) l)) (* (* g e) k)))))
(check-sat) (pop)

(echo "a quotient of a quotient: (x / c) / d = x / (c * d)")
(push) (declare-const x Int) (declare-const c Int) (declare-const d Int) (declare-const a Int) (declare-const b Int)
(assert (> c 0)) (assert (> d 0))
(assert (<= (* c a) x)) (assert (< x (+ (* c a) c)))
(assert (<= (* d b) a)) (assert (< a (+ (* d b) d)))
(assert (not (and (<= (* (* c d) b) x) (< x (+ (* (* c d) b) (* c d))))))
(check-sat) (pop)

(echo "a sum over a quotient: m + x / c = (c * m + x) / c")
(push) (declare-const x Int) (declare-const c Int) (declare-const m Int) (declare-const a Int)
(assert (> c 0)) (assert (<= (* c a) x)) (assert (< x (+ (* c a) c)))
(assert (not (and (<= (* c (+ m a)) (+ (* c m) x)) (< (+ (* c m) x) (+ (* c (+ m a)) c)))))
(check-sat) (pop)

(echo "a quotient of a digit: ((x / c) mod (d * e)) / d = (x / (c * d)) mod e, on y = x / c")
(push) (declare-const y Int) (declare-const d Int) (declare-const e Int) (declare-const s Int) (declare-const t Int) (declare-const u Int)
(assert (> d 0)) (assert (> e 0))
; y = d * e * s + t with the digit t, t = d * u + v, so u is the quotient of the digit
(assert (<= 0 t)) (assert (< t (* d e))) (assert (= y (+ (* (* d e) s) t)))
(assert (<= (* d u) t)) (assert (< t (+ (* d u) d)))
; y / d is e * s + u and u is less than e
(assert (not (and (<= (* d (+ (* e s) u)) y) (< y (+ (* d (+ (* e s) u)) d)) (<= 0 u) (< u e))))
(check-sat) (pop)

(echo "a remainder of a digit: (y mod (m * k)) mod m = y mod m")
(push) (declare-const s Int) (declare-const t Int) (declare-const m Int) (declare-const k Int) (declare-const q Int) (declare-const r Int)
(assert (> m 0)) (assert (> k 0)) (assert (<= 0 t)) (assert (< t (* m k)))
(assert (= t (+ (* m q) r))) (assert (<= 0 r)) (assert (< r m))
; y = m * k * s + t is r more than a multiple of m
(assert (not (= (+ (* (* m k) s) t) (+ (* m (+ (* k s) q)) r))))
(check-sat) (pop)

(echo "two digits are one: y mod m + m * ((y / m) mod n) = y mod (m * n)")
(push) (declare-const m Int) (declare-const n Int) (declare-const a Int) (declare-const b Int) (declare-const s Int)
(assert (> m 0)) (assert (> n 0)) (assert (<= 0 a)) (assert (< a m)) (assert (<= 0 b)) (assert (< b n))
; y = a + m * (b + n * s): its two lowest digits are a and b
(assert (not (and (<= 0 (+ a (* m b))) (< (+ a (* m b)) (* m n)) (= (+ a (* m (+ b (* n s)))) (+ (* (* m n) s) (+ a (* m b)))))))
(check-sat) (pop)

(echo "the lowest digit and the rest are the number: y mod m + m * (y / m) = y")
(push) (declare-const m Int) (declare-const q Int) (declare-const r Int) (declare-const y Int)
(assert (> m 0)) (assert (= y (+ (* m q) r))) (assert (<= 0 r)) (assert (< r m))
(assert (not (= (+ r (* m q)) y)))
(check-sat) (pop)
