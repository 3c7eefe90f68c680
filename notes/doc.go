// Package notes reads and writes the sections in which an ELF object describes
// its USDT probes.
//
// Three formats meet here, and each has its codec in a file of its own:
//
//   - the .note.stapsdt section, an ELF note per probe site ([Note], [All],
//     [Read], [Note.Append]), as systemtap's sys/sdt.h defined it:
//     https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation
//   - the argument string inside each note, which is assembler text of the
//     object's architecture ([ParseArgs], [Arg]); each architecture has a file;
//   - the .stapsdt.types section, with which objects made by this module name
//     and type their arguments ([Types], [AppendTypes]); FORMAT.md has the bytes.
//
// The package opens no files, knows no section tables and runs the same on
// every host, whatever architecture the object is for. No input makes it
// panic, loop, or allocate more than the input's size justifies.
package notes
