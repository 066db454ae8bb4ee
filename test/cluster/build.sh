#!/usr/bin/env bash
# Builds the control plane's programs for the tests and prints the folder they are in:
#
#   test/cluster/build.sh [PROGRAM...]
#
# Without an argument: etcd, kube-apiserver and kube-scheduler. The folder is named
# after go.sum, so a changed version is a new folder; each program gets there by one
# rename, so one that exists is whole. Where KUBEBUILDER_ASSETS is set (the envtest
# convention) and has all that is asked for, it is used and nothing is built.
#
# Progress goes to stderr, the folder to stdout.
set -euo pipefail
cd "$(dirname "$0")"

declare -A package=(
	[etcd]=go.etcd.io/etcd/server/v3
	[kube-apiserver]=k8s.io/kubernetes/cmd/kube-apiserver
	[kube-scheduler]=k8s.io/kubernetes/cmd/kube-scheduler
)
(($#)) || set -- etcd kube-apiserver kube-scheduler
kubernetes=$(awk '$1 == "k8s.io/kubernetes" { print $2 }' go.mod)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/gpuhealthd
folder=$cache/cluster-$(sha256sum go.sum | cut -c1-16)

say() { echo "cluster: $*" >&2; }

# complete FOLDER PROGRAM... says whether the folder has them all.
complete() {
	local in=$1 program
	shift
	for program; do [[ -x $in/$program ]] || return 1; done
}

# build PROGRAM puts one program into the folder.
build() {
	local version=k8s.io/component-base/version minor=${kubernetes#v1.}
	say "building $1"
	CGO_ENABLED=0 ../progress.sh "cluster: $1" nice go build -v -trimpath \
		-ldflags "-s -w -X $version.gitVersion=$kubernetes -X $version.gitMajor=1 -X $version.gitMinor=${minor%%.*}" \
		-o "$work/$1" "${package[$1]}" >&2
	mv -T "$work/$1" "$folder/$1"
}

if [[ -n ${KUBEBUILDER_ASSETS:-} ]] && complete "$KUBEBUILDER_ASSETS" "$@"; then
	echo "$KUBEBUILDER_ASSETS"
	exit
fi
if complete "$folder" "$@"; then
	echo "$folder"
	exit
fi
say "not all of $* $kubernetes is in $folder; a cold build of everything takes 4 to 9 minutes, once"
mkdir -p "$folder"
exec 9>"$cache/cluster.lock"
flock 9 # Another test run may be building: its result is ours.
work=$(mktemp -d "$cache/building-XXXXXX")
trap 'rm -rf "$work"' EXIT
for program; do
	complete "$folder" "$program" || build "$program"
done
echo "$folder"
