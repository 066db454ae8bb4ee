# gpuhealthd: make help says what there is. Everything works without a GPU.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VERSION  := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
CACHE    := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/gpuhealthd
# What packages and images are called: a tag's version and what came after it, else the
# last commit's time and name.
RELEASE  ?= $(or $(shell git describe --tags --match 'v[0-9]*' --dirty 2>/dev/null | sed 's/^v//; s/-/+/; s/-/./g'),$\
  $(shell git log -1 --date=format:%Y%m%d%H%M%S --format=0.0.0+%cd.%h 2>/dev/null),0.0.0)
ARCHES   ?= $(sort $(shell go env GOHOSTARCH) $(if $(shell command -v aarch64-linux-gnu-gcc),arm64))
FUZZTIME ?= 30s
FUZZREST ?= $(FUZZTIME)
SOAK     ?= 10m
# go-nvml binds deprecated functions as well, and says so at every build.
export CGO_CFLAGS := -g -O2 -Wno-deprecated-declarations
# Debian's packages that building needs, beside Go and make; tests need more.
PACKAGES := gcc libc6-dev git libsystemd-dev
IMAGE_PACKAGES := mmdebstrap umoci
image: PACKAGES += $(IMAGE_PACKAGES)
test race bench: PACKAGES += systemd systemd-journal-remote slurmctld slurmd slurm-client munge \
  $(IMAGE_PACKAGES) runc systemd-container lintian rpm prometheus

GOLANGCI_VERSION := v2.15.0
GOLANGCI = $(or $(shell command -v golangci-lint),$(CACHE)/golangci-lint-$(GOLANGCI_VERSION)/golangci-lint)

.PHONY: help
help: ## print the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: deps ## build/gpuhealthd
	@echo "build: gpuhealthd $(VERSION); a cold build takes one to three minutes"
	@CGO_ENABLED=1 test/progress.sh build \
	  go build -v -trimpath -ldflags '-X main.version=$(VERSION)' -o build/gpuhealthd ./cmd/gpuhealthd

.PHONY: packages
packages: deps ## build/packages: deb and rpm, for arm64 too where its cross compiler is installed
	@rm -f build/packages/*.deb build/packages/*.rpm # those of another version
	@for arch in $(ARCHES); do packaging/packages.sh $$arch '$(RELEASE)' build/packages; done

.PHONY: image
image: deps ## build/image: the container image, for the same
	@rm -f build/image/*.tar
	@for arch in $(ARCHES); do packaging/image/build.sh $$arch '$(RELEASE)' build/image; done

.PHONY: sim
sim: deps ## build/sim: the simulated node's driver library
	@$(MAKE) --no-print-directory -C sim OUT='$(CURDIR)/build/sim'

.PHONY: cluster
cluster: deps ## etcd, kube-apiserver, kube-scheduler for the tests, into the cache (5 to 9 minutes, once)
	@echo "cluster: in $$(test/cluster/build.sh)"

.PHONY: demo
demo: build sim ## play faults into a simulated 8-GPU node and show what the agent does
	@build/gpuhealthd demo --sim build/sim

.PHONY: test
test: build sim cluster ## every test, on real parts
	@echo "test: compiling"
	@test/progress.sh test go build -v ./...
	@echo "test: running; without GPUHEALTHD_TEST_KMSG=1 none writes to this machine's kernel log"
	@go test -timeout 15m ./...

.PHONY: race
race: build sim cluster ## every test under the race detector
	@go test -race -timeout 30m ./...

.PHONY: fuzz
fuzz: deps ## every fuzz target, FUZZTIME=30s each
	@test/fuzz.sh $(FUZZTIME) $(FUZZREST)

.PHONY: bench
bench: build sim cluster ## every benchmark
	@go test -run '^$$' -bench . -benchmem -timeout 30m ./...

.PHONY: soak
soak: build sim ## healthy engines that look stalled, watched for SOAK=10m: nothing may act
	@SOAK='$(SOAK)' go test -count=1 -timeout 0 -v ./test/soak

.PHONY: lint
lint: deps $(GOLANGCI) ## golangci-lint, import rules included
	@$(GOLANGCI) run ./...

$(CACHE)/golangci-lint-$(GOLANGCI_VERSION)/golangci-lint:
	@echo "lint: building golangci-lint $(GOLANGCI_VERSION); takes two to four minutes, once"
	@GOBIN='$(@D)' go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)

.PHONY: fmt
fmt: ## gofmt everything
	@gofmt -l -w .

.PHONY: deps
deps: ## install the Debian packages that are missing, or say how
	@command -v go >/dev/null || { echo "deps: Go is missing: https://go.dev/dl/ ($$(grep '^go ' go.mod) or newer)"; exit 1; }
	@missing=; \
	for package in $(PACKAGES); do \
	  [[ $$(dpkg-query -W -f '$${db:Status-Status}' $$package 2>/dev/null) == installed ]] || missing+=" $$package"; \
	done; \
	if [[ -z $$missing ]]; then exit; fi; \
	if ((EUID != 0)); then \
	  echo "deps: missing:$$missing. Type: sudo apt-get install -y$$missing"; exit 1; \
	fi; \
	echo "deps: installing$$missing"; \
	apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null

.PHONY: clean
clean: ## remove build/; the cache stays
	@rm -rf build
