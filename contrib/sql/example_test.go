package usdtsql_test

import (
	"log"

	"github.com/go-usdt/usdt/contrib/sql"
)

// Requests to a database fire probes.
func ExampleOpen() {
	db, err := usdtsql.Open("postgres", "host=/run/postgresql dbname=shop", &usdtsql.Options{DB: "shop"})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
}
