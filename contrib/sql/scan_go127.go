//go:build go1.27

package usdtsql

import "database/sql/driver"

// like returns r with a RowsColumnScanner if the driver's rows have one: database/sql
// calls it in place of Next then.
func (r *rows) like() driver.Rows {
	if below, ok := r.Rows.(driver.RowsColumnScanner); ok {
		return &scanner{r, below}
	}
	return r
}

type scanner struct {
	*rows
	below driver.RowsColumnScanner
}

func (s *scanner) NextRow() error { return s.count(s.below.NextRow()) }

func (s *scanner) ScanColumn(ctx driver.ScanContext, index int, dest any) error {
	return s.below.ScanColumn(ctx, index, dest)
}
