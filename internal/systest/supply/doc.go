// Package supply holds what this module is made of: whose code runs in the
// programs that use it is decided here, not by whoever adds an import.
package supply
