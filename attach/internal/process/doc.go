// Package process holds processes, so that what is read of a PID, and attached to
// it, is known to be of the process that was meant and not of a later one.
package process
