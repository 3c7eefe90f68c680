package usdtsql_test

import (
	"database/sql/driver"
)

// conns are connections that have no optional interface, each alone, all but one, and all.
var conns = []func(*calls) driver.Conn{
	func(c *calls) driver.Conn { return conn{c} },
	func(c *calls) driver.Conn {
		return struct {
			conn
			pings
		}{conn{c}, pings{c}}
	},
	func(c *calls) driver.Conn {
		return struct {
			conn
			execsContext
		}{conn{c}, execsContext{c}}
	},
	func(c *calls) driver.Conn {
		return struct {
			conn
			execs
		}{conn{c}, execs{c}}
	},
	func(c *calls) driver.Conn {
		return struct {
			conn
			queriesContext
		}{conn{c}, queriesContext{c}}
	},
	func(c *calls) driver.Conn {
		return struct {
			conn
			queries
		}{conn{c}, queries{c}}
	},
	func(c *calls) driver.Conn {
		return struct {
			conn
			prepares
		}{conn{c}, prepares{c}}
	},
	func(c *calls) driver.Conn {
		return struct {
			conn
			begins
		}{conn{c}, begins{c}}
	},
	func(c *calls) driver.Conn {
		return struct {
			conn
			resets
		}{conn{c}, resets{c}}
	},
	func(c *calls) driver.Conn {
		return struct {
			conn
			validates
		}{conn{c}, validates{c}}
	},
	func(c *calls) driver.Conn {
		return struct {
			conn
			checks
		}{conn{c}, checks{c}}
	},
	func(c *calls) driver.Conn {
		return struct {
			conn
			resets
			validates
		}{conn{c}, resets{c}, validates{c}}
	},
	func(c *calls) driver.Conn {
		return struct {
			conn
			execs
			queries
			checks
		}{conn{c}, execs{c}, queries{c}, checks{c}}
	},
	func(c *calls) driver.Conn {
		return struct {
			conn
			execsContext
			queriesContext
			prepares
			begins
			resets
			validates
			checks
		}{conn{c}, execsContext{c}, queriesContext{c}, prepares{c}, begins{c}, resets{c}, validates{c}, checks{c}}
	},
	func(c *calls) driver.Conn {
		return struct {
			conn
			pings
			queriesContext
			prepares
			begins
			resets
			validates
			checks
		}{conn{c}, pings{c}, queriesContext{c}, prepares{c}, begins{c}, resets{c}, validates{c}, checks{c}}
	},
	func(c *calls) driver.Conn {
		return struct {
			conn
			pings
			execsContext
			prepares
			begins
			resets
			validates
			checks
		}{conn{c}, pings{c}, execsContext{c}, prepares{c}, begins{c}, resets{c}, validates{c}, checks{c}}
	},
	func(c *calls) driver.Conn {
		return struct {
			conn
			pings
			execsContext
			queriesContext
			begins
			resets
			validates
			checks
		}{conn{c}, pings{c}, execsContext{c}, queriesContext{c}, begins{c}, resets{c}, validates{c}, checks{c}}
	},
	func(c *calls) driver.Conn {
		return struct {
			conn
			pings
			execsContext
			queriesContext
			prepares
			resets
			validates
			checks
		}{conn{c}, pings{c}, execsContext{c}, queriesContext{c}, prepares{c}, resets{c}, validates{c}, checks{c}}
	},
	func(c *calls) driver.Conn {
		return struct {
			conn
			pings
			execsContext
			queriesContext
			prepares
			begins
			validates
			checks
		}{conn{c}, pings{c}, execsContext{c}, queriesContext{c}, prepares{c}, begins{c}, validates{c}, checks{c}}
	},
	func(c *calls) driver.Conn {
		return struct {
			conn
			pings
			execsContext
			queriesContext
			prepares
			begins
			resets
			checks
		}{conn{c}, pings{c}, execsContext{c}, queriesContext{c}, prepares{c}, begins{c}, resets{c}, checks{c}}
	},
	func(c *calls) driver.Conn {
		return struct {
			conn
			pings
			execsContext
			queriesContext
			prepares
			begins
			resets
			validates
		}{conn{c}, pings{c}, execsContext{c}, queriesContext{c}, prepares{c}, begins{c}, resets{c}, validates{c}}
	},
	func(c *calls) driver.Conn {
		return struct {
			conn
			pings
			execsContext
			queriesContext
			prepares
			begins
			resets
			validates
			checks
		}{conn{c}, pings{c}, execsContext{c}, queriesContext{c}, prepares{c}, begins{c}, resets{c}, validates{c}, checks{c}}
	},
}

// stmts are all kinds of statements.
var stmts = []func(*calls) driver.Stmt{
	func(c *calls) driver.Stmt { return stmt{c} },
	func(c *calls) driver.Stmt {
		return struct {
			stmt
			stmtExecs
		}{stmt{c}, stmtExecs{c}}
	},
	func(c *calls) driver.Stmt {
		return struct {
			stmt
			stmtQueries
		}{stmt{c}, stmtQueries{c}}
	},
	func(c *calls) driver.Stmt {
		return struct {
			stmt
			checks
		}{stmt{c}, checks{c}}
	},
	func(c *calls) driver.Stmt {
		return struct {
			stmt
			converts
		}{stmt{c}, converts{c}}
	},
	func(c *calls) driver.Stmt {
		return struct {
			stmt
			checks
			converts
		}{stmt{c}, checks{c}, converts{c}}
	},
	func(c *calls) driver.Stmt {
		return struct {
			stmt
			stmtExecs
			stmtQueries
			converts
		}{stmt{c}, stmtExecs{c}, stmtQueries{c}, converts{c}}
	},
	func(c *calls) driver.Stmt {
		return struct {
			stmt
			stmtExecs
			stmtQueries
			checks
			converts
		}{stmt{c}, stmtExecs{c}, stmtQueries{c}, checks{c}, converts{c}}
	},
}

// results are rows that have none, each alone, and all optional interfaces.
var results = []func(*calls) driver.Rows{
	newRows,
	func(c *calls) driver.Rows {
		r := newRows(c).(rows)
		return struct {
			rows
			moreSets
		}{r, moreSets{r.n}}
	},
	func(c *calls) driver.Rows {
		return struct {
			driver.Rows
			scanTypes
		}{Rows: newRows(c)}
	},
	func(c *calls) driver.Rows {
		return struct {
			driver.Rows
			typeNames
		}{Rows: newRows(c)}
	},
	func(c *calls) driver.Rows {
		return struct {
			driver.Rows
			lengths
		}{Rows: newRows(c)}
	},
	func(c *calls) driver.Rows {
		return struct {
			driver.Rows
			nullables
		}{Rows: newRows(c)}
	},
	func(c *calls) driver.Rows {
		return struct {
			driver.Rows
			precisions
		}{Rows: newRows(c)}
	},
	func(c *calls) driver.Rows {
		r := newRows(c).(rows)
		return struct {
			rows
			moreSets
			scanTypes
			typeNames
			lengths
			nullables
			precisions
		}{rows: r, moreSets: moreSets{r.n}}
	},
}
