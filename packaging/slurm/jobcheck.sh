#!/bin/sh
# Slurm's Prolog and Epilog: no job begins on a node whose GPUs are faulty or cannot
# be seen, and none follows one that left them so. Slurm drains the node itself where
# this fails, and gives the job to another. In slurm.conf:
#
#   Prolog=/usr/share/gpuhealthd/slurm/jobcheck.sh
#   Epilog=/usr/share/gpuhealthd/slurm/jobcheck.sh
gpuhealthd=${GPUHEALTHD:-/usr/bin/gpuhealthd}

"$gpuhealthd" check --deadline 10s >&2
case $? in
0 | 1) exit 0 ;;
*) exit 1 ;;
esac
