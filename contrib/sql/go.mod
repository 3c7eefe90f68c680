module github.com/go-usdt/usdt/contrib/sql

go 1.26.0

require (
	github.com/go-usdt/usdt v0.0.0-20261125211219-adfa37fd1640
	github.com/lib/pq v1.12.3
)

require (
	github.com/cilium/ebpf v0.22.0 // indirect
	github.com/ianlancetaylor/demangle v0.0.0-20260724033716-83e58baca724 // indirect
	github.com/ulikunitz/xz v0.5.17 // indirect
	golang.org/x/arch v0.33.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
)

replace github.com/go-usdt/usdt => ../..
