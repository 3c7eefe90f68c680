// Package hostile checks that programs which are inspected, traced or completed
// by a shell cannot do more to their observer than SECURITY.md says.
package hostile
