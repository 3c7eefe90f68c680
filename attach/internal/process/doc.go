// Package process holds processes, so that data read by PID, and attachments to a
// PID, are known to be of the intended process and not of a later one. It tells programs which
// processes are traced.
package process
