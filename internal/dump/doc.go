// Package dump is the command sdtdump, for other commands to run too.
package dump
