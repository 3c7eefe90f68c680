// Package await lets a program that declares probes wait until a tracer has attached
// to them. The environment names the tracer. FORMAT.md has the protocol.
package await

// Variable is the environment variable with the tracer's address: "@NAME" for an
// abstract unix socket, or a path.
const Variable = "USDT_TRACER"
