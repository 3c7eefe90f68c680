static inline __attribute__((always_inline)) int twice(int x) {
	int y = x * 2;
	y += x & 1;
	return y;
}
