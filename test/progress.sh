#!/usr/bin/env bash
# Runs a `go build -v` and says every 15 s how far it is:
#
#   test/progress.sh NAME go build -v ./...
#
# What else the command says is shown only if it fails: a successful build's
# warnings are those of other people's C headers.
set -euo pipefail
name=$1 said='' downloaded=0 compiled=0 next=15
shift

exec 3< <("$@" 2>&1)
command=$!
while true; do
	status=0
	IFS= read -r -t 1 -u 3 line || status=$?
	if ((status > 128)); then
		: # Nothing for a second.
	elif ((status > 0)); then
		break # End of output.
	elif [[ $line == 'go: downloading '* ]]; then
		downloaded=$((downloaded + 1))
	elif [[ $line == *' '* ]]; then
		said+=$line$'\n'
	else
		compiled=$((compiled + 1))
	fi
	if ((SECONDS >= next)); then
		echo "$name: $SECONDS s, $downloaded modules downloaded, $compiled packages compiled"
		next=$((SECONDS + 15))
	fi
done

if ! wait $command; then
	echo -n "$said"
	echo "$name: failed after $SECONDS s"
	exit 1
fi
echo "$name: done in $SECONDS s"
