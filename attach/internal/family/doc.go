// Package family follows processes and all that they start: programs of the kernel enter each
// process into a table when one of the table forks it, before it runs, and strike it out when it
// ends.
package family
