// Package targets tests the attacher and sdttrace on existing programs:
// PostgreSQL, OpenJDK, CPython and the C++ runtime library. The tests compare
// traced events with the program's own counts. The package has tests only.
package targets
