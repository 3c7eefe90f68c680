// Package demo is the service that "sdttrace demo" traces: a small web shop
// whose probes are declared the way any Go service would declare them.
package demo
