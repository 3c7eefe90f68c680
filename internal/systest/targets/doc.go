// Package targets tests the attacher and sdttrace on programs that were there
// before them: PostgreSQL, OpenJDK, CPython and the C++ runtime library. What
// is traced is compared with what the program itself has counted. It has no
// code of its own.
package targets
