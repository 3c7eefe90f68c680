// Package usdtsql wraps drivers of database/sql, so that their calls fire probes:
//
//	db, err := usdtsql.Open("postgres", "dbname=shop", nil)          // in place of sql.Open
//	db := sql.OpenDB(usdtsql.Connector(connector, &usdtsql.Options{DB: "shop"}))
//	sql.Register("postgres+usdt", usdtsql.Driver(&pq.Driver{}, nil))
//
// Each call of the driver fires sql:request_start and sql:request_done, and a query also
// fires sql:rows_done when its rows are closed.
//
//	sdttrace --where 'status == "error"' sql:request_done
//	sdttrace latency sql:request_start sql:request_done --key id --by 'method,sql(statement)'
//
// All have the arguments id, which differs for each call of the process, trace_id and
// span_id ([Options]), method, db ([Options]) and statement. The method is connect, ping,
// prepare, exec, query, begin, commit or rollback. The values of parameters are not passed.
//
//	request_done  status, duration_ns, error
//	rows_done     rows, duration_ns since the query began, error
//
// The status is ok, error, or skip where the driver leaves a statement to database/sql,
// which then prepares it and calls the driver again. Drivers may begin to work on a query
// when its first row is asked for: rows_done has all of its time. Calls that begin while
// nobody watches a probe of the provider do not fire.
//
// # What is wrapped
//
// database/sql sees no difference: the optional interfaces of a driver take effect as they
// do without this package, and an interface that the driver lacks is replaced by what
// database/sql does. Code that reaches for the driver's own connection, by sql.Conn.Raw,
// calls [Unwrap].
package usdtsql
