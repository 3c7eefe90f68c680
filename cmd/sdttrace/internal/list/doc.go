// Package list reads which probes processes have, and who watches them, and writes the list.
package list
