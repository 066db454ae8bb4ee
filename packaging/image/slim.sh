#!/bin/sh
# Keeps, of the packages that build.sh extracts into $1, what the image needs.
set -e
cd "$1"
cat usr/share/ca-certificates/mozilla/*.crt >certificates
find . -mindepth 1 ! -type d \
	! -path './lib64/*' ! -path './lib/*-linux-gnu*/lib*.so.*' ! -path './lib/*-linux-gnu*/ld-*' ! -path './usr/lib/*-linux-gnu/lib*.so.*' \
	! -path ./lib/ld-linux-aarch64.so.1 \
	! -path ./usr/bin/nsenter ! -path './usr/share/doc/*/copyright' ! -path ./certificates -delete
# openssl came with the certificates.
find usr/lib -name 'libcrypto.so*' -delete -o -name 'libssl.so*' -delete
find . -mindepth 1 -type d -empty -delete
mkdir -p etc/ssl/certs tmp
mv certificates etc/ssl/certs/ca-certificates.crt
