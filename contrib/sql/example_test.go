package usdtsql_test

import (
	"log"

	"github.com/go-usdt/usdt/contrib/sql"
)

// What is asked of a database fires probes.
func ExampleOpen() {
	db, err := usdtsql.Open("postgres", "host=/run/postgresql dbname=shop", &usdtsql.Options{DB: "shop"})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
}
