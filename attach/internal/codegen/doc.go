// Package codegen generates the BPF programs that record events or add them up. It
// turns descriptions into instructions: it opens, loads and attaches nothing, and
// does not know probes.
//
//   - a [query.Signature] says what is read at a site, on which condition, and what is
//     done with it; sites with equal signatures share code
//   - [Refs] are the maps that the code refers to
//   - [Specs] makes programs of them
//
// Package bind makes the signatures; package attach makes the maps and loads the programs.
package codegen
