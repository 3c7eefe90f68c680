// Package sdtdump is the command sdtdump, which other commands can also run.
package sdtdump
