# make test runs the tests, make check all that CI runs. Each target is one script or one command.

.PHONY: test check fmt fuzz bench bars work

FUZZTIME ?= 30s
BENCHTIME ?= 1s

test: ## all tests, random ones with few cases; installs what they need
	@.ci/test

check: ## everything a change must pass: all tests whole, the race detector, fuzzing, linters
	@.ci/run

fmt: ## format all Go files
	@gofmt -w .

fuzz: ## every fuzz target for FUZZTIME
	@.ci/fuzz $(FUZZTIME)

bench: ## every benchmark, no tests
	@go test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) ./...

bars: ## the suites of other projects against package server; MIRROR has clones, STORES are stores
	@MIRROR="$(MIRROR)" .ci/bars $(STORES)

work: ## a workspace of all modules for an editor; CI does not use it
	@rm -f go.work go.work.sum && go work init $$(find . -name go.mod -not -path '*/testdata/*' -exec dirname {} +)
