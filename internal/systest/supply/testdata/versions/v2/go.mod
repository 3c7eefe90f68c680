module example.com/cache/v2

go 1.26.0

require github.com/go-usdt/usdt v1.0.0
