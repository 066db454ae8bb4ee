#!/usr/bin/env bash
# Builds etcd and kube-apiserver for the tests and prints the folder they are in.
#
# The folder is named after go.sum, so a changed version is a new folder. It is
# filled by one rename: a folder that exists is complete. Where KUBEBUILDER_ASSETS
# is set (the envtest convention), its binaries are used and nothing is built.
#
# Progress goes to stderr, the folder to stdout.
set -euo pipefail
cd "$(dirname "$0")"

kubernetes=$(awk '$1 == "k8s.io/kubernetes" { print $2 }' go.mod)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/gpuhealthd
folder=${KUBEBUILDER_ASSETS:-$cache/cluster-$(sha256sum go.sum | cut -c1-16)}

say() { echo "cluster: $*" >&2; }

complete() { [[ -x $folder/etcd && -x $folder/kube-apiserver ]]; }

# build PACKAGE BINARY compiles one binary into $work.
build() {
	local version=k8s.io/component-base/version minor=${kubernetes#v1.}
	say "building $2"
	CGO_ENABLED=0 ../progress.sh "cluster: $2" nice go build -v -trimpath \
		-ldflags "-s -w -X $version.gitVersion=$kubernetes -X $version.gitMajor=1 -X $version.gitMinor=${minor%%.*}" \
		-o "$work/$2" "$1" >&2
}

# build_both fills the folder.
build_both() {
	say "etcd and kube-apiserver $kubernetes are not in $folder; a cold build takes 4 to 8 minutes, once"
	work=$(mktemp -d "$cache/building-XXXXXX")
	trap 'rm -rf "$work"' EXIT
	build go.etcd.io/etcd/server/v3 etcd
	build k8s.io/kubernetes/cmd/kube-apiserver kube-apiserver
	chmod 755 "$work"
	mv -T "$work" "$folder"
}

if complete; then
	echo "$folder"
	exit
fi
if [[ -n ${KUBEBUILDER_ASSETS:-} ]]; then
	say "KUBEBUILDER_ASSETS=$KUBEBUILDER_ASSETS holds no etcd and kube-apiserver"
	exit 1
fi
mkdir -p "$cache"
exec 9>"$cache/cluster.lock"
flock 9 # Another test run may be building: its result is ours.
complete || build_both
echo "$folder"
