#!/usr/bin/env bash
# Builds the container image of one architecture, without a registry and without a
# container engine:
#
#   packaging/image/build.sh ARCH VERSION FOLDER
#
# ARCH is as in packaging/binary.sh. The base is libc, libsystemd, nsenter and the
# certificates of this Debian's own release, since the binary is linked to its libc. The
# image is an OCI archive, FOLDER/gpuhealthd-VERSION-ARCH.tar; podman, docker, ctr and
# skopeo load it.
set -euo pipefail
cd "$(dirname "$0")/../.."
mkdir -p "$3"
archive=$(realpath "$3")/gpuhealthd-$2-$1.tar
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

packaging/binary.sh "$1" "$2" "$work/gpuhealthd"
mmdebstrap --quiet --variant=extract --arch="$1" --include=libc6,libsystemd0,util-linux,ca-certificates \
	"$suite" "$work/packages.tar"
mkdir "$work/base"
tar -C "$work/base" -xf "$work/packages.tar" --no-same-owner --exclude=./dev
packaging/image/slim.sh "$work/base"
tar -C "$work/base" -cf "$work/base.tar" --sort=name --owner=0 --group=0 --numeric-owner .

tag=${2//+/-} # a tag has no plus
image=$work/oci:$tag
umoci init --layout "$work/oci"
umoci new --image "$image"
umoci raw add-layer --image "$image" "$work/base.tar"
umoci insert --image "$image" "$work/gpuhealthd" /usr/bin/gpuhealthd
umoci config --image "$image" --os linux --architecture "$1" \
	--config.entrypoint /usr/bin/gpuhealthd \
	--config.label org.opencontainers.image.title=gpuhealthd \
	--config.label org.opencontainers.image.version="$2" \
	--config.label org.opencontainers.image.source=https://github.com/gpuhealthd/gpuhealthd \
	--config.label org.opencontainers.image.licenses=Apache-2.0
umoci gc --layout "$work/oci"
tar -C "$work/oci" -cf "$archive" .
echo "image: $archive"
