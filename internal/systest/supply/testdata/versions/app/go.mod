module example.com/app

go 1.26.0

require (
	example.com/cache v1.0.0
	example.com/cache/v2 v2.0.0
	github.com/go-usdt/usdt v1.0.0
)

replace (
	example.com/cache => ../v1
	example.com/cache/v2 => ../v2
)
