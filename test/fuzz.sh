#!/usr/bin/env bash
# Runs every fuzz target of the module for the given time each:
#
#   test/fuzz.sh 30s
#
# As many run at once as there are processors, with one worker each. Any failure
# fails the run; Go leaves the input under the package's testdata.
set -euo pipefail
cd "$(dirname "$0")/.."
time=$1

# targets prints "package target", one a line. Only packages with a target are compiled.
targets() {
	local folder
	{ grep -rl --include='*_test.go' '^func Fuzz' . || true; } | xargs -rn1 dirname | sort -u | while read -r folder; do
		go test -list '^Fuzz' "$folder" | sed -n "s|^Fuzz|$folder &|p"
	done
}

list=$(targets)
if [[ -z $list ]]; then
	echo "fuzz: no target"
	exit
fi
echo "fuzz: $(wc -l <<<"$list") targets, $time each, $(nproc) at once"
xargs -P "$(nproc)" -L1 bash -c \
	'go test -run "^$" -fuzz "^$2\$" -fuzztime "$0" -parallel 1 "$1" | sed "s/^/$2: /" ; exit "${PIPESTATUS[0]}"' "$time" <<<"$list"
