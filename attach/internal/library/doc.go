// Package library finds the files of libraries as a dynamic linker would.
package library
