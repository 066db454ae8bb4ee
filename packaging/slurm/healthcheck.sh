#!/bin/sh
# Slurm's HealthCheckProgram: drains the node while its GPUs are faulty, and resumes
# nothing. Where the daemon runs with the actuator slurm, it does both, and this is
# not needed. In slurm.conf:
#
#   HealthCheckProgram=/usr/share/gpuhealthd/slurm/healthcheck.sh
#   HealthCheckInterval=300
gpuhealthd=${GPUHEALTHD:-/usr/bin/gpuhealthd}
node=${SLURMD_NODENAME:-$(hostname -s)}

found=$("$gpuhealthd" check --deadline 20s)
case $? in
0 | 1) exit 0 ;; # 1 is degraded, which takes no node from its jobs
2) ;;
*) # unknown is no fault, and is said in the system's log
	logger -t gpuhealthd -p daemon.warning -- "${0##*/}: $found" 2>/dev/null
	exit 0
	;;
esac

# Who has drained the node before keeps the word.
scontrol show node "$node" | grep -q '^ *State=[A-Z_+]*DRAIN' && exit 0
exec scontrol update nodename="$node" state=drain reason="gpuhealthd check: $(printf '%.200s' "$found")"
