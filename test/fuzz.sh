#!/usr/bin/env bash
# Runs every fuzz target of the module: those of what the kernel says for the first
# time each, all others for the second:
#
#   test/fuzz.sh 30s 5s
#
# As many run at once as there are processors, with one worker each. Any failure
# fails the run, and is printed once more at its end; Go leaves the input under
# the package's testdata.
set -euo pipefail
cd "$(dirname "$0")/.."

# targets prints "package target", one a line. Only packages with a target are compiled.
targets() {
	local folder
	{ grep -rl --include='*_test.go' '^func Fuzz' . || true; } | xargs -rn1 dirname | sort -u | while read -r folder; do
		go test -list '^Fuzz' "$folder" | sed -n "s|^Fuzz|$folder &|p"
	done
}

# fuzz_one runs one target and keeps its output where it failed.
fuzz_one() {
	local log=$logs/${2//\//-}-$3
	if go test -run '^$' -fuzz "^$3\$" -fuzztime "$1" -parallel 1 "$2" 2>&1 | tee "$log" | sed "s/^/$3: /"; then
		rm "$log"
	elif only_late "$log"; then
		echo "$3: the time was over while a worker was busy, and Go calls that a failure (go.dev/issue/75804); no input failed"
		rm "$log"
	fi
}

# only_late says whether a failed run lists nothing but the end of its time. Go
# before 1.27 takes the deadline that -fuzztime sets for an error of the target
# now and then; an input that fails is always written to testdata.
only_late() {
	grep -qx ' *context deadline exceeded' "$1" &&
		! grep -qE 'Failing input written|^panic:|hung or terminated' "$1"
}

# timed gives each target its time.
timed() {
	sed -e "s|^\./xidparse|$1 &|; s|^\./nvlink|$1 &|; t" -e "s|^|$2 |"
}

list=$(targets | timed "$1" "$2")
if [[ -z $list ]]; then
	echo "fuzz: no target"
	exit
fi
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
export logs
export -f fuzz_one only_late
echo "fuzz: $(wc -l <<<"$list") targets, $1 each where the kernel speaks and $2 elsewhere, $(nproc) at once"
xargs -P "$(nproc)" -L1 bash -c 'set -o pipefail; fuzz_one "$@"' fuzz_one <<<"$list"
for log in "$logs"/*; do
	[[ -e $log ]] || continue
	echo "fuzz: FAILED: ${log##*/}"
	tail -n 40 "$log"
	failed=1
done
[[ -z ${failed:-} ]]
