// Package bindtest makes queries of notes and types, for tests of what binds, computes and
// generates them. It needs no process, no object and no kernel.
//
// A [Case] is one of [Cases], or one that a test makes: probes, and what is asked of them.
// [Case.Bind] binds it as a session does. [Golden] compares what a test makes of all cases
// with a file of its testdata.
package bindtest
