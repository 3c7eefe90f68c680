// Package demo is the service that "sdttrace demo" traces: a small web shop that
// declares its probes as any Go service would.
package demo
