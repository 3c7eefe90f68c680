package total

// Bucket counts values from Lo to less than Hi.
//
// With attach.Aggregation.Bounds the first bucket begins at -Inf and the last one
// ends at +Inf. If there are no Bounds, zero's bucket ends at 1, or for floating-point numbers at 2^-32,
// each other bucket of positive values reaches from one power of two to the next, and buckets of negative
// ones mirror them: from -8 to -4, from -4 to -2, from -2 to -1, from -1 to 0.
type Bucket struct {
	Lo, Hi float64
	N      uint64
}
