package total

// Bucket counts values from Lo to less than Hi.
//
// With attach.Aggregation.Bounds the first bucket begins at -Inf and the last one
// ends at +Inf. If there are no Bounds, values less than 0 lie in a bucket from -Inf to 0, the
// bucket of zero ends at 1, or for floating-point numbers at 2^-32, and each other bucket reaches
// from one power of two to the next.
type Bucket struct {
	Lo, Hi float64
	N      uint64
}
