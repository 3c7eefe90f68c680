package main

import (
	"errors"
	"fmt"

	"github.com/go-usdt/usdt/prototype"
)

// prototypes returns the names of arguments that --providers asks for.
func (f *traceFlags) prototypes() (*prototype.Table, error) {
	table, err := loadPrototypes(f.providers)
	if err != nil {
		return nil, err
	}
	f.meanings.Table = table
	if len(f.providers) > 0 {
		f.meanings.Given, err = loadPrototypes(append([]string{prototype.None}, f.providers...))
	}
	return table, err
}

// loadPrototypes returns the names that are known, installed and in files.
func loadPrototypes(files []string) (*prototype.Table, error) {
	table, err := prototype.Load(files...)
	var syntax *prototype.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return nil, usageError{err} // which says where
	case err != nil:
		return nil, usageError{fmt.Errorf("--providers: %w", err)}
	}
	return table, nil
}
