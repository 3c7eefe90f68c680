// Package usdtslog has a handler for log/slog whose records fire a probe:
//
//	slog.SetDefault(slog.New(usdtslog.NewHandler(slog.NewJSONHandler(os.Stderr, nil), nil)))
//
// Each record fires slog:record. While a tracer watches it, records below the level that is
// written also do: debugging is turned on from outside, for as long as somebody looks.
//
//	sdttrace 'slog:*'
//	sdttrace --where 'level >= 8 && attrs ~ "*user=17*"' slog:record
//
// Its arguments are trace_id and span_id ([Options]), level (-4, 0, 4, 8 for debug, info,
// warn and error), msg, and attrs in the form of slog.TextHandler: with the attributes of With in
// front, and names of groups before keys, as in "service=shop req.method=GET".
package usdtslog
