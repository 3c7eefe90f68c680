// Package argument reads what Options.Args say: which arguments events hold, and which types they
// are given. It also chooses what is shown of variables that debugging information describes.
package argument
