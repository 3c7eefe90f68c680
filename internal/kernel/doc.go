// Package kernel asks the running kernel what it can do, and finds the members of
// its structs that programs read.
//
// A [Feature] is detected by trying it, since distributions backport some.
// [StayOnTaskStack] keeps a program on the stack that it was written for, and
// [PIDNamespace] and [LoadStartTime] tell programs which process they run in.
// [RingPosition] keeps the kernel from waking the reader of a ring buffer. [Missed] says how
// often the kernel left a program out.
package kernel
