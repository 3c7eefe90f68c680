package query

// ValueInput stands for the value of an aggregate among Inputs that have faults.
const ValueInput = 0xfffe

// Fault is an argument that a condition could not read, so that an event did not pass, or the
// value of an aggregate, so that it was lost.
type Fault struct {
	Site  uint32 // the number
	Low   uint32 // the lowest 12 bits of the address at which it is, which files have as well; of records 0
	Input int    // of Signature.Inputs, or ValueInput
	Mark  uint8  // why
}
