// Package prototype names the arguments of probes whose objects do not name them: most
// programs with USDT probes say only where their arguments are and how long.
//
// A [Table] has lines that read like declarations in C, with the provider in front:
//
//	postgresql:query__start(char *query)
//	hotspot:class__loaded(char *name[len], int len, void *loader, bool shared)
//
// [Known] is the table of PostgreSQL, OpenJDK, CPython and others, which this package
// comes with. [ReadFile] reads a user's own:
//
//	table, err := prototype.ReadFile("mine.probes") // errors say file and line
//	table = prototype.Known().With(table)           // whose lines win
//	p := table.Lookup(note.Provider, note.Name, probe.Arguments(), notes.ELFCLASS64)
//
// Lookup compares sizes and signs. It returns nothing where a line does not fit, so
// that the line of one version names nothing in another version's probe.
//
// # Files
//
// A line is empty, a comment that begins with '#', or one of
//
//	PROVIDER:NAME(TYPE ARGUMENT, …)
//	typedef TYPE NAME
//	enum NAME { NAME, NAME = VALUE, … }
//	text PROVIDER:NAME ARGUMENT SYMBOL, a variable that points to it; NAME may have '*'
//	silent PROVIDER:NAME why a probe may never fire; NAME may have '*'
//	note FILE PROVIDER:NAME when the probes of a version fire; both may have '*'
//	danger FILE PROVIDER:NAME NAME why tracing both harms FILE, which may have '*'
//	say PROVIDER:NAME WORD [ARGUMENT=VALUE] text in which ${ARGUMENT} stands for one
//	page PROVIDER:START,PROVIDER:END[:KEY] [by KEY] [stack] [flat] [if CONDITION]
//	page PROVIDER:START,uprobe:FILE:FUNC, and the same behind it
//	page PROVIDER:NAME
//	pair PROVIDER:START,PROVIDER:END, and what a page line may have behind it
//
// A line with open parentheses or braces goes on in the next line. Types are the types of C and
// stdint.h, typedefs and enums of lines above, and pointers to anything. They must have the size
// and the sign that the object says, except that constants in the code have neither. An argument
// can be more than a number:
//
//	char *query             text that ends in a NUL
//	char *name[len]         text of len bytes; len is another argument, which events leave out
//	char16_t *name[len]     UTF-16 of len units
//	char *type->8           text whose address is 8 bytes behind where the argument points to
//	void *loader            an address
//	enum mode               the number of a name
//	long took ns            a unit: ns, us, ms, s, bytes, kB, pages, blocks
//	unsigned relation id    a number that identifies something, and measures nothing
//	char *type->8 cxx       a name as a C++ compiler mangles it; java: as the JVM writes it
//	int fd as uintptr_t     declared as int, but passed as uintptr_t
//	integer count           an integer whose size and sign versions differ in
//	int _                   an argument of no known name
//	...                     at the end: there may be more arguments
//
// "say" replaces the arguments that its text names by that text where people read events, if an
// argument has the value that the line gives: "waits_for=relation 16384". ${query__start:query} is
// the argument of the last event of another probe in the same process. "page" lines are the first
// look at a provider, for sdttrace page PROVIDER: pairs of probes whose times are measured, as
// --span has them, in groups by a key such as sql(query), and probes whose events are shown. The
// starts of a flat pair do not nest: a later one takes the place of the one that waits, as where an
// error skips ends. Starts for which the condition is false are no starts of pairs that are shown.
// A function ends the pairs in place of the ends that later lines name for the same start, if each program
// that has the start has the function; FILE is the program's where none runs yet.
// "pair" lines say the same of pairs that are no part of the first look.
//
// A probe can have several lines, for versions that pass different arguments. If more
// than one fits, an argument has the name and type in which they all agree.
package prototype
