// Package naming names the code of the processes in which probes fire: what is mapped there, also
// when they have executed another file or have ended, and what runs at addresses of it.
package naming
