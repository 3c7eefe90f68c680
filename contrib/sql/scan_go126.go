//go:build !go1.27

package usdtsql

import "database/sql/driver"

func (r *rows) like() driver.Rows { return r }
