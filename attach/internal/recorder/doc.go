// Package recorder writes the records of a session to a file that package tracefile describes, and
// names the code of their stacks while the processes live.
package recorder
