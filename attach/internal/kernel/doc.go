// Package kernel asks the running kernel what it can do, and knows where its
// structs have what programs read.
//
// A [Feature] is found out by trying it, since distributions backport some of them.
// [StayOnTaskStack] keeps a program on the stack that it was written for, and
// [PIDNamespace] and [LoadStartTime] tell programs which process they run in.
package kernel
