GO ?= go
FUZZTIME ?= 1m

.PHONY: all build test test-rest test-most test-slow test-plain test-tools test-raced test-go test-dlopen test-contrib test-receiver test-otelcol otelcol tools check tidy contrib-requires govulncheck bench fuzz generate interop interop-trixie test-debian test-kernels collection-object

# Modules of their own, for services that have these libraries.
CONTRIB = $(wildcard contrib/*)

all: build

# Compilers, linkers and checkers live for seconds. If their heaps grow to five times what is in use
# instead of twice, they take a quarter less processor time. TOOLS sets this for them alone where the
# go command also runs tests.
SPARE = env GOGC=400
TOOLS = -toolexec '$(SPARE)'

build:
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/ ./cmd/...

# tools installs the programs that the tests run, where it may.
tools:
	ci/install

# ARM64 are packages with files for arm64 alone. The tests on other kernels compile the rest for it.
ARM64 = $(shell GOARCH=arm64 $(GO) list -f '{{.ImportPath}}: {{.GoFiles}} {{.SFiles}}' ./internal/... ./attach/internal/... ./provider ./reader | sed -n '/_arm64/s/:.*//p')

# The modules in contrib are checked as test-contrib compiles them, with the race detector.
check: export GOGC = 400
check:
	@unformatted=$$(find . -name '*.go' ! -path './bin/*' -exec gofmt -l {} +); if [ -n "$$unformatted" ]; then echo "not gofmt-ed: $$unformatted"; exit 1; fi
	$(GO) vet ./...
	GOARCH=arm64 $(GO) vet $(ARM64)
	@cd internal/systest/peers && if [ "$$CI" = true ] || GOPROXY=off $(GO) list -deps -test ./... >/dev/null 2>&1; then $(GO) vet ./...; \
		else echo "internal/systest/peers is not vetted: make bench downloads its modules"; fi
	$(GO) tool staticcheck ./...
	@staticcheck=$$($(GO) tool -n staticcheck) && export GOFLAGS="$$GOFLAGS -race" && for m in $(CONTRIB); do \
		(cd $$m && $(GO) vet ./... && $$staticcheck ./...) || exit 1; done
	$(GO) mod verify

# tidy adds what a change of go.mod means for the other modules of the repository.
tidy:
	for m in . internal/systest/peers $(CONTRIB) otelcol/usdtreceiver otelcol/kubernetes; do (cd $$m && $(GO) mod tidy) || exit 1; done

# contrib-requires has the modules in contrib require VERSION of this one.
contrib-requires:
	for m in $(CONTRIB) otelcol/usdtreceiver; do (cd $$m && $(GO) mod edit -require github.com/go-usdt/usdt@$(VERSION)) || exit 1; done

# govulncheck asks Go's vulnerability database, which is on the network, about
# the code that our packages call.
govulncheck:
	$(GO) run golang.org/x/vuln/cmd/govulncheck@v1.8.0 ./...

# Programs with the race detector sleep for a second before they end, and the
# tests run very many. Targets that begin at once would each compile what all of them need, so list
# compiles it first. Tests of six packages, and of the modules in contrib, run the sdttrace
# that it links.
#
# test is for each change. test-rest takes as long again, and runs what seldom finds more: every form of
# what the others try in some, mutated inputs, other tracers and browsers, and the same with another compiler,
# loader or the race detector. CI runs both.
test: JOBS = test-most test-plain test-contrib test-receiver
test-rest: JOBS = test-slow test-tools test-go test-raced test-dlopen fuzz FUZZTIME=2000x
test test-rest: export GORACE = atexit_sleep_ms=0
test test-rest: export SDTTRACE = $(CURDIR)/bin/test/sdttrace
test test-rest: tools
	$(GO) list $(TOOLS) -export ./... >/dev/null
	$(GO) build $(TOOLS) -o $(SDTTRACE) ./cmd/sdttrace
	timeout 60m $(MAKE) -j 3 -Oline $(JOBS)

# check vets what go test would. The seeds of fuzz tests are for fuzz, except those of FuzzVerbs,
# which are more than the inputs that it gets there.
TEST = $(GO) test $(TOOLS) -vet off -timeout 50m
PLAIN = $(shell ci/plain)

# The packages that take longest begin. The programs that attach's tests trace run without the race detector.
test-most: export USDT_TEST_QUICK = $(CURDIR)/bin/test
test-most:
	$(GO) test $(TOOLS) -vet off -c -o bin/test/attach.test/exe ./attach
	$(TEST) -exec '$(CURDIR)/ci/halves' -race -skip '^$(SLOW)$$|^Fuzz' ./attach $(filter-out ./cmd/sdttrace $(PLAIN),$(patsubst github.com/go-usdt/usdt%,.%,$(shell $(GO) list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./...)))

# test-slow runs what ci/slow.txt names: the tests of attach that wait longest, tests that start a command
# many times, and tests that decode many instructions. The race detector, under which a command takes five
# times as long to start and code six times as long to decode, would find nothing in them that it does not
# find in other tests.
SLOW = ($(shell grep -v '^\#' ci/slow.txt | paste -sd '|'))
test-slow:
	$(TEST) -run '^$(SLOW)$$' $(sort $(shell grep -rlE '^func $(SLOW)\b' --include='*_test.go' . | xargs -n 1 dirname))

# test-plain runs without the race detector, which also hides what hostile files cost. SHARED are
# the tests of symbols in which goroutines share something.
SHARED = Bound|CloseBesideOthers
test-plain:
	$(TEST) -skip '^$(SLOW)$$|^Fuzz' ./internal/systest/targets ./cmd/sdttrace $(filter-out $(TOOLED),$(PLAIN))
	$(TEST) -race -run '^Test($(SHARED))$$' ./symbols

# test-tools has other tracers, debuggers and readers of ELF files read and trace what is ours, and browsers
# show it.
TOOLED = ./internal/systest/interop ./internal/systest/page
test-tools:
	$(TEST) -skip ^Fuzz $(TOOLED)

# test-raced runs the tests of the command with the race detector, under which it takes five times as long to start.
test-raced:
	$(TEST) -race -skip '^$(SLOW)$$|^Fuzz' ./cmd/sdttrace

# test-go runs what depends on the compiler and the runtime with the other release of Go
# that is supported, which the go command downloads. The list compiles all packages, and links none.
OTHERGO = $(if $(filter go1.27%,$(shell $(GO) env GOVERSION)),go1.26.8,go1.27.4)
test-go: export GOTOOLCHAIN = $(OTHERGO)
test-go:
	$(GO) list $(TOOLS) -export ./... >/dev/null
	$(TEST) ./event ./internal/printable ./internal/stub ./provider ./internal/pcln
	$(TEST) -run 'Go' ./symbols ./reader ./attach ./cmd/sdttrace
	cd contrib/sql && $(TEST) -run 'Scanner|Interfaces' .

test-dlopen:
	$(TEST) -race -tags usdt_dlopen ./provider -loader dlopen

# test-contrib traces the real libraries.
test-contrib: export SDTTRACE = $(CURDIR)/bin/test/sdttrace
test-contrib:
	$(GO) build $(TOOLS) -o $(SDTTRACE) ./cmd/sdttrace
	for m in $(CONTRIB); do (cd $$m && $(TEST) -race ./...) || exit 1; done

# otelcol builds an OpenTelemetry Collector with the receiver of otelcol/usdtreceiver: bin/otelcol/otelcol-usdt.
BUILDER = go.opentelemetry.io/collector/cmd/builder@v0.165.0
otelcol:
	mkdir -p bin
	CGO_ENABLED=0 $(GO) run $(BUILDER) --config otelcol/distribution.yaml

# test-receiver runs the tests of the modules in otelcol, except APART, which need the built collector or, as
# TestShares, a processor for half a minute.
APART = Test(Collector(Validates)?|Dockerfile|Memory|Outages|ProfilesCollector|Prometheus|Readme|Shares|ShownMetrics|UnitReloads)
test-receiver:
	cd otelcol/usdtreceiver && $(TEST) -skip '^$(APART)$$' ./...
	cd otelcol/kubernetes && $(TEST) ./...

# test-otelcol builds the collector and runs the rest of these tests. It is no part of test, since to compile the
# collector takes longer than its tests: CI runs it afterwards. It compiles what the builder writes without
# -trimpath, with which the go command would also compile anew the standard library, this module and staticcheck.
test-otelcol: export OTELCOL = $(CURDIR)/bin/otelcol/otelcol-usdt
test-otelcol: export CGO_ENABLED = 0
test-otelcol:
	mkdir -p bin
	$(SPARE) $(GO) run $(BUILDER) --config otelcol/distribution.yaml --skip-compilation
	cd bin/otelcol && $(SPARE) $(GO) build -ldflags '-s -w' -o $(OTELCOL) .
	cd otelcol/usdtreceiver && $(SPARE) $(GO) vet ./... && $(SPARE) $$(cd $(CURDIR) && $(GO) tool -n staticcheck) ./... && $(TEST) -run '^$(APART)$$' .

# bench prints each thing that is measured beside its peer, in one run.
bench: tools
	$(GO) test -run '^$$' -bench . -benchtime 1s ./...
	cd internal/systest/peers && $(GO) test -run '^$$' -bench . -benchtime 1x ./...
	for m in $(CONTRIB); do (cd $$m && $(GO) test -run '^$$' -bench . ./...) || exit 1; done

# fuzz runs every fuzz test for FUZZTIME: "make fuzz FUZZTIME=8h" for a night.
# Before Go 1.27, a test whose time ends may fail with "context deadline exceeded"
# and no failing input (go.dev/issue/75804), so "make test-rest" gives a number of inputs.
fuzz:
	GO=$(GO) ci/fuzz $(FUZZTIME)

# generate makes what is generated anew: the manual pages, which the tests compare,
# and a class file, which takes javac.
generate:
	$(GO) generate ./...

# interop writes INTEROP.md anew, by the tests that hold it; it needs all tools,
# and of Debian 12 and 13 the one that it runs on.
interop: tools
	$(GO) test ./internal/systest/interop -run '^TestMatrix$$' -update

# interop-trixie does so with the tools of Debian 13, and has its programs traced,
# on any machine where it may install debootstrap and mount. CI does not run it.
interop-trixie:
	exec env GO=$(GO) ci/trixie sh -c "ci/install && \
		go test ./internal/systest/interop -run '^TestMatrix$$' -update && go test -count=1 ./internal/systest/targets && go test -count=1 ./internal/sdtdump -run '^TestBpftrace$$'"

# test-debian downloads Debian's packages with probes for eight architectures and
# compares with readelf; UPDATE=-update writes the test data anew. It also downloads
# debugging information, and compares names and lines with llvm-symbolizer and addr2line.
test-debian:
	SDTDUMP_DEBIAN=1 $(GO) test -run 'TestDebian$$$$' -timeout 60m -v ./internal/sdtdump $(UPDATE)
	SYMBOLS_DEBIAN=1 $(GO) test -run 'TestDebian$$$$' -timeout 60m -v ./symbols

# collection-object compiles C for BPF, of which tests have the objects, with the headers of libbpf
# 1.7 or later in LIBBPF/bpf, which Debian does not have yet. It goes through the
# preprocessor first, so that none of their lines end up in the type information.
collection-object:
	@set -e; cd attach/collection/testdata; for out in collection-1.7.o:collection shop.o:shop; do \
		clang -E -P -O2 -target bpf -DARG_SIZE -D__TARGET_ARCH_x86 -I$(LIBBPF) -I/usr/include/x86_64-linux-gnu $${out#*:}.bpf.c | \
			clang -O2 -g -fdebug-compilation-dir=. -target bpf -x c - -c -o $${out%:*}; \
		llvm-strip -g $${out%:*}; \
	done

# test-kernels boots other kernels under qemu and runs the tests there;
# UPDATE=-update writes KERNELS.md anew.
test-kernels:
	ci/install packages-kernels.txt
	$(GO) run $(TOOLS) ./internal/systest/kernels $(UPDATE)
