#!/usr/bin/env bash
# Builds the deb and the rpm of one architecture:
#
#   packaging/packages.sh ARCH VERSION FOLDER
#
# ARCH is amd64 or arm64; one that is not this machine's needs a cross compiler and
# tells which. VERSION begins with a digit. Everything goes to FOLDER.
set -euo pipefail
cd "$(dirname "$0")/.."
export ARCH=$1 PACKAGE_VERSION=$2 BUILD=$3/$1
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
export SOURCE_DATE_EPOCH

rm -rf "$BUILD"
mkdir -p "$BUILD/completion"
packaging/binary.sh "$ARCH" "$PACKAGE_VERSION" "$BUILD/gpuhealthd"

# The manual and the completions are told by a binary that runs here.
here=$BUILD/gpuhealthd
if [[ $ARCH != $(go env GOHOSTARCH) ]]; then
	here=$BUILD/here
	packaging/binary.sh "$(go env GOHOSTARCH)" "$PACKAGE_VERSION" "$here"
fi
"$here" man "$BUILD/man"
gzip -9n "$BUILD"/man/*
for shell in bash zsh fish; do "$here" completion "$shell" >"$BUILD/completion/$shell"; done
# What the configuration's comments point to; tests are for the repository.
mkdir "$BUILD/doc"
cp -R docs deploy "$BUILD/doc"
find "$BUILD/doc" -name '*_test.go' -delete
chmod -R u=rwX,go=rX "$BUILD/doc"
{ # in Debian's own form
	printf 'gpuhealthd (%s) unstable; urgency=medium\n\n' "$PACKAGE_VERSION"
	sed -n 's/^- /  * /p' CHANGELOG.md | fold -s -w 76 | sed 's/^[^ ]/    &/'
	printf '\n -- %s  %s\n' "$(sed -n 's/^maintainer: //p' packaging/nfpm.yaml)" "$(date -Rud "@$SOURCE_DATE_EPOCH")"
} | gzip -9n >"$BUILD/changelog.gz"

nfpm=$(go -C tools/external tool -n nfpm)
for packager in deb rpm; do
	"$nfpm" package --config packaging/nfpm.yaml --packager "$packager" --target "$3/"
done
