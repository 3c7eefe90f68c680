// Package sdtdump is the command sdtdump, which other commands can run, too.
package sdtdump
