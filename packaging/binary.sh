#!/usr/bin/env bash
# Builds the stripped binary that packages and images hold:
#
#   packaging/binary.sh ARCH VERSION FILE
#
# It is linked to libc, so that another architecture needs a cross compiler.
set -euo pipefail
cd "$(dirname "$0")/.."
declare -A triplet=([amd64]=x86_64-linux-gnu [arm64]=aarch64-linux-gnu)
compiler=${triplet[$1]:?"no build for the architecture $1"}-gcc
[[ $1 == $(go env GOHOSTARCH) ]] && compiler=$(go env CC)
command -v "$compiler" >/dev/null || { echo "$1: $compiler is missing; in Debian: apt-get install gcc-${compiler%-gcc} libc6-dev-$1-cross" >&2; exit 1; }
# go-nvml binds deprecated functions as well, and says so at every build.
export CGO_CFLAGS=${CGO_CFLAGS:--g -O2 -Wno-deprecated-declarations}
CC=$compiler CGO_ENABLED=1 GOARCH=$1 \
	go build -trimpath -ldflags "-s -w -X main.version=$2" -o "$3" ./cmd/gpuhealthd
