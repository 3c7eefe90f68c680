// Package sdtdump is the command sdtdump, for other commands to run too.
package sdtdump
