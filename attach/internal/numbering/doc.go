// Package numbering gives sites the numbers by which programs, and the records that these write, name
// them.
package numbering
