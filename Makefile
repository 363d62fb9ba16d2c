# The front door: `make help` lists the targets. Everything here works offline
# once Go's module cache and npm's have what go.mod and package-lock.json name.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

GO ?= go
# cgo is off but for the race detector: one build cache then serves the project
# and the Kubernetes programs that its tests use, and gcc doesn't matter to it.
export CGO_ENABLED := 0

# What `make test`, `make race` and `make lint` look at, and further arguments.
PKGS ?= ./...
ARGS ?=

# Of the Kubernetes programs, and of the API machinery that /version tells.
KUBE_VERSION := v1.37.2
KUBE_LDFLAGS := -s -w -X k8s.io/component-base/version.gitVersion=$(KUBE_VERSION) \
	-X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=37 \
	-X k8s.io/component-base/version.gitTreeState=clean -X k8s.io/component-base/version.buildDate=1970-01-01T00:00:00Z

KUBE_PROGRAMS := bin/etcd bin/kube-apiserver bin/kube-controller-manager bin/kubectl

# npm's own lock of what is installed: as new as the last complete install.
REFERENCE_PDS := test/pds/node_modules/.package-lock.json

##@ Develop

.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} \
	  /^##@/ {printf "\n%s\n", substr($$0, 5)} \
	  /^[a-z0-9-]+:.*## / {printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: build ## Start the dev server: etcd, PDS, API server and controller in one process (ARGS="--pds …")
	@exec bin/infra-apiserver dev $(ARGS)

.PHONY: build
build: ## Build bin/infra-apiserver, bin/infra-controller and bin/kubectl-infra
	$(GO) build -ldflags '$(KUBE_LDFLAGS)' -o bin/ ./cmd/infra-apiserver ./cmd/infra-controller ./cmd/kubectl-infra

# Nothing of this machine is in it: every checkout of a commit makes the same bytes.
.PHONY: image
image: ## Build the container image for amd64 and arm64 as an OCI layout: dist/image
	cd hack/deploy && $(GO) run . image -module $(CURDIR) -out $(CURDIR)/dist/image -ldflags '$(KUBE_LDFLAGS)' \
	  -version "$$(git describe --tags --always --dirty)" -revision "$$(git rev-parse HEAD)" -created "$$(git log -1 --format=%ct)"

.PHONY: push
push: ## Push dist/image to a registry, as docker or podman would (IMAGE=registry/name:tag)
	cd hack/deploy && $(GO) run . push $(CURDIR)/dist/image $(IMAGE)

.PHONY: generate
generate: ## Write all generated code again
	hack/update-lexicons.sh
	hack/update-codegen.sh
	cd hack/deploy && $(GO) run . manifests $(CURDIR)/artifacts/deploy

.PHONY: clean
clean: ## Remove what was built and the dev server's data; Go's caches stay
	rm -rf bin dist hack/bin .infra test/pds/node_modules

##@ Test

# Packages at a time. The smallest machine has two cores; one of three packages waits
# for a PDS or for a clock, as a rule.
PACKAGES := 3

# The tests start every service that they need, on loopback.
.PHONY: test
test: bin/kubectl $(REFERENCE_PDS) ## Run every test, and each fuzz target for a moment (PKGS=…, ARGS="-run …")
	$(GO) test -p $(PACKAGES) -timeout 25m $(ARGS) $(PKGS)
ifeq ($(PKGS),./...)
	@$(MAKE) --no-print-directory verify-monitoring
	hack/fuzz.sh $(FUZZTIME)
endif

# The longest comes first, so that nothing waits for it alone at the end.
E2E_PKGS = $(if $(filter ./...,$(PKGS)),./test/cases ./test/e2e/... ./test/kubectl,$(PKGS))

# Each package has a control plane of its own, so two at a time are enough. What they
# test is programs, so that a result of before says nothing.
.PHONY: e2e
e2e: build $(KUBE_PROGRAMS) $(REFERENCE_PDS) ## Run the tests on a real control plane: kube-apiserver, controller-manager, etcd
	$(GO) test -tags e2e -count=1 -p 2 -timeout 15m $(ARGS) $(E2E_PKGS)

# Minutes and hours of quiet and load, with figures: two and a half hours as it stands.
.PHONY: soak
soak: build $(KUBE_PROGRAMS) $(REFERENCE_PDS) ## Run the cases that need hours (ARGS="-idle 10m -quiet 1m -load 10s")
	INFRA_SOAK=1 $(GO) test -tags e2e -count=1 -v -timeout 30m -run '^TestRollingRestart$$' ./test/e2e/lifecycle
	INFRA_SOAK=1 $(GO) test -count=1 -v -timeout 30m -run '^Test(ProbesMakeNoSeries|WatchesLeaveNothing)$$' ./test/api
	$(GO) test -tags e2e,soak -count=1 -v -timeout 4h ./test/e2e/soak $(ARGS)

# All but testpds, which compares two PDSes call by call, the kubectl plugin, which
# makes one call after the other, and the program, whose tests run it as a process:
# nothing of them is concurrent.
RACE_PKGS = $(if $(filter ./...,$(PKGS)),$$($(GO) list ./cmd/... ./internal/... | grep -vE '/internal/(testpds|kubectlinfra)|/cmd/infra-apiserver') ./pkg/apis/... ./pkg/apiserver/... ./pkg/registry/...,$(PKGS))

.PHONY: race
race: export CGO_ENABLED := 1
race: $(REFERENCE_PDS) ## Run our packages' tests under the race detector
	$(GO) test -race -p $(PACKAGES) -timeout 40m $(ARGS) $(RACE_PKGS)

# A count, not a time: what a run does is then the same on a busy machine.
FUZZTIME ?= 2000x

.PHONY: fuzz
fuzz: ## Run each fuzz target (FUZZTIME=1m for longer)
	hack/fuzz.sh $(FUZZTIME)

BENCH_PKGS = $(if $(filter ./...,$(PKGS)),./test/bench ./test/bench/controlplane,$(PKGS))

# One package at a time: each measures, and writes its section of the report alone.
.PHONY: bench
bench: build $(KUBE_PROGRAMS) $(REFERENCE_PDS) ## Measure against the PDS and against a CRD, and write docs/benchmarks.md (PKGS=…, ARGS=…)
	$(GO) test -tags e2e -run '^$$' -bench . -benchtime 1x -p 1 -timeout 60m $(BENCH_PKGS) -report $(CURDIR)/docs/benchmarks.md $(ARGS)

##@ Check

# The cheap checks come first, so that it fails fast. go vet is one of the linters.
.PHONY: verify
verify: ## Everything that needs no running test: formats, sizes, modules, generated code, vet, lint
	hack/verify-files.sh
	$(GO) mod tidy -diff
	hack/verify-lexicons.sh
	hack/verify-codegen.sh
	cd hack/deploy && $(GO) mod tidy -diff && $(GO) test -count=1 ./...
	@$(MAKE) --no-print-directory lint

.PHONY: lint
lint: bin/golangci-lint ## Run golangci-lint (PKGS=./internal/…)
	bin/golangci-lint run $(PKGS)
ifeq ($(PKGS),./...)
	cd hack/deploy && $(CURDIR)/bin/golangci-lint run --config $(CURDIR)/.golangci.yml
	cd hack/monitoring && $(CURDIR)/bin/golangci-lint run --config $(CURDIR)/.golangci.yml
endif

.PHONY: verify-monitoring
verify-monitoring: ## Test the alert rules, and check them and the dashboard against the metrics that there are
	cd hack/monitoring && $(GO) test ./...

# Tools are built from source, at the versions that their modules pin.

bin/golangci-lint: hack/tools/go.mod hack/tools/go.sum
	cd hack/tools && $(GO) build -ldflags '-s -w' -o $(CURDIR)/$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

# go run keeps what it linked in the build cache, which go build doesn't: a fresh
# checkout with a warm cache links nothing.
bin/etcd: PROGRAM := go.etcd.io/etcd/server/v3
bin/kube-%: PROGRAM = k8s.io/kubernetes/cmd/$(@F)
bin/kubectl: PROGRAM := k8s.io/kubernetes/cmd/kubectl
$(KUBE_PROGRAMS): test/controlplane/go.mod test/controlplane/go.sum
	@mkdir -p bin
	cd test/controlplane && $(GO) run -ldflags '$(KUBE_LDFLAGS)' -exec 'cp --remove-destination' $(PROGRAM) $(CURDIR)/$@

$(REFERENCE_PDS): test/pds/package.json test/pds/package-lock.json
	cd test/pds && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	touch $@
