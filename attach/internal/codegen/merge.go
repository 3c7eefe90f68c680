package codegen

// Merge adds the words of a group to those of another one. squares is the first of the
// words of the sum of squares, -1 without, see [Values.SquaresAt].
func Merge(sum []uint64, squares int, word func(i int) uint64) {
	for i := range sum {
		switch v := word(i); {
		case i == WordMin || i == WordMax:
			sum[i] = max(sum[i], v)
		case squares >= 0 && i == squares:
			AddSquares(sum[i:], v, word(i+1))
		case squares >= 0 && i == squares+1: // its upper half
		default:
			sum[i] += v
		}
	}
}
