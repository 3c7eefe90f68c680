// Package usdtreceiver is a receiver for the OpenTelemetry Collector that attaches to probes of
// USDT and to functions of running programs, and makes metrics, logs and spans of what fires.
//
// [Config] is what stands under receivers: usdt: in the collector's file. An entry under traces
// names probes and processes, and what becomes of their events. Names follow one rule: what a probe
// makes is called PROVIDER.NAME, unless the entry says name, and its provider is the scope.
package usdtreceiver
