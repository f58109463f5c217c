# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# What the scripts beside this file share. Sourced, never run.

export LC_ALL=C
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"

say() { printf '==> %s\n' "$*" >&2; }
die() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# --- Where the time goes ------------------------------------------------------------------------------------------

# A file of `SECONDS<tab>PHASE` lines. A script that runs others names one in RELAY_PHASES, and prints it at its end.
phases="${RELAY_PHASES-}"
phase_name='' phase_start=0

# `phase NAME`: from here on the time belongs to this; what was before has ended.
phase() {
    end_phase
    phase_name="$1" phase_start=$EPOCHSECONDS
    say "$1"
}

# Ends the phase that runs, if one does, and says how long it took.
end_phase() {
    [[ -n $phase_name ]] || return 0
    local seconds=$((EPOCHSECONDS - phase_start))
    say "$phase_name: $seconds s"
    [[ -z $phases ]] || printf '%s\t%s\n' "$seconds" "$phase_name" >>"$phases"
    phase_name=''
}

# `print_phases FILE`: the table, with its sum.
print_phases() {
    printf '\n%8s  %s\n' seconds phase
    awk -F '\t' '{ printf "%8d  %s\n", $1, $2; sum += $1 } END { printf "%8d  %s\n\n", sum, "all together" }' "$1"
}

# --- Cleaning up -------------------------------------------------------------------------------------------------

started_pids=()
made_directories=()
holds_services=no
# Seconds that what was started has for its own end, before it is killed. A script that runs others sets more.
seconds_to_end=3

# Whether the process is still a child of this script. One that has ended and was waited for is not, and its number may be
# another process's by now.
is_child() { grep -qsxE "PPid:[[:space:]]+$$" "/proc/$1/status"; }

clean_up() {
    local pid directory tries
    for pid in "${started_pids[@]}"; do
        is_child "$pid" || continue
        kill -CONT "$pid" 2>/dev/null || true
        kill "$pid" 2>/dev/null || true
    done
    for pid in "${started_pids[@]}"; do
        for ((tries = seconds_to_end * 10; tries > 0; tries--)); do
            is_child "$pid" || break
            sleep 0.1
        done
        if is_child "$pid"; then kill -KILL "$pid" 2>/dev/null || true; fi
        wait "$pid" 2>/dev/null || true
    done
    started_pids=()
    for directory in "${made_directories[@]}"; do rm -rf -- "$directory"; done
    made_directories=()
}

# Whatever happens, what was started is stopped and what was made is removed. A script that has more to undo defines
# `at_exit`.
at_exit() { :; }
trap 'release_services || true; at_exit; clean_up' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# `started PID`: stop this process at the end.
started() { started_pids+=("$1"); }

# `interruptible COMMAND…`: runs a program to its end, in the background, so that a signal is not kept waiting by it. What
# is in the background ignores SIGINT, unless told otherwise.
interruptible() {
    local status=0
    env --default-signal=INT,QUIT "$@" </dev/null &
    started $!
    wait $! || status=$?
    return "$status"
}

# Sets `directory` to a new directory that is removed at the end.
make_directory() {
    directory="$(mktemp -d "${TMPDIR:-/tmp}/relay-$1.XXXXXX")"
    made_directories+=("$directory")
}

# --- Packages ----------------------------------------------------------------------------------------------------

# libsrt with GnuTLS on purpose: the distribution's libavformat links that build, and two builds of libsrt in one process
# would share their symbols. Where libsrt-openssl-dev is installed, apt replaces it.
# shellcheck disable=SC2034 # used by those who source this
build_packages=(
    pkg-config libx264-dev libavformat-dev libavcodec-dev libavutil-dev libavdevice-dev libavfilter-dev
    libswscale-dev libswresample-dev librtmp-dev libsrt-gnutls-dev libsqlite3-dev
)
# shellcheck disable=SC2034
run_packages=(ffmpeg nginx libnginx-mod-rtmp srt-tools rclone procps iproute2)
# What the end-to-end tests need beyond that: TLS in front of nginx, certificates, an HTTP and a SOCKS proxy (without a
# service each), an RTMP server that asks for a login, for which Debian has none but a script, loss of packets, and disks
# that fail.
# shellcheck disable=SC2034
test_packages=(
    libnginx-mod-stream openssl tinyproxy-bin microsocks python3 iptables mount util-linux e2fsprogs btrfs-progs dmsetup
)
# What scripts/test checks the scripts with.
# shellcheck disable=SC2034
check_packages=(shellcheck python3)

is_installed() {
    [[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" == installed ]]
}

# Packages named in the arguments that are missing, one a line.
missing_packages() {
    local package
    for package; do
        is_installed "$package" && continue
        [[ "$package" == nginx ]] && [[ -x /usr/sbin/nginx ]] && continue
        [[ "$package" == ffmpeg ]] && command -v ffmpeg ffprobe >/dev/null && continue
        [[ "$package" == python3 ]] && command -v python3 >/dev/null && continue
        [[ "$package" == pkg-config ]] && command -v pkg-config >/dev/null && continue
        printf '%s\n' "$package"
    done
}

as_root() {
    if ((EUID == 0)); then
        "$@"
    else
        command -v sudo >/dev/null || die "installing packages needs root: install sudo, or run as root: $*"
        sudo "$@"
    fi
}

# Installs what is missing of the packages named, and nothing else; asks for nothing if nothing is missing.
apt_install() {
    local missing
    mapfile -t missing < <(missing_packages "$@")
    ((${#missing[@]})) || return 0
    command -v apt-get >/dev/null || die "these packages are missing, and there is no apt-get here: ${missing[*]}"
    say "installing ${missing[*]}"
    if [[ " ${missing[*]} " == *" libsrt-gnutls-dev "* ]] && is_installed libsrt-openssl-dev; then
        say "libsrt-gnutls-dev replaces libsrt-openssl-dev, which cannot be installed beside it"
    fi
    # The distribution's own nginx service must not run because of us: neither now nor after the next boot. One that is
    # there already is not ours to restart with a module more.
    local touches_nginx=no brings_nginx=no
    [[ " ${missing[*]} " == *nginx* ]] && touches_nginx=yes
    [[ $touches_nginx == yes && ! -x /usr/sbin/nginx ]] && brings_nginx=yes
    [[ $touches_nginx == yes ]] && hold_services
    if ! apt_get install "${missing[@]}"; then
        say "trying again with fresh package lists"
        if ! { apt_get update && apt_get install "${missing[@]}"; }; then
            die "apt-get could not install ${missing[*]}"
        fi
    fi
    release_services
    if [[ $brings_nginx == yes && -d /run/systemd/system ]]; then
        as_root systemctl disable --now --quiet nginx.service || true
    fi
}

apt_get() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get --quiet=2 --yes --no-install-recommends \
        -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 "$@" </dev/null
}

policy=/usr/sbin/policy-rc.d

# Keeps packages from starting services while they are installed, unless the system already has a rule of its own.
hold_services() {
    [[ -e $policy ]] && return
    holds_services=yes
    printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
    as_root chmod 755 "$policy"
}

release_services() {
    [[ $holds_services == yes ]] || return 0
    holds_services=no
    as_root rm -f "$policy"
}

require_swift() {
    command -v swift >/dev/null || die "there is no swift here: install Swift 6.2 or newer (https://swift.org/install)"
}

# Builds the release and sets `relay` to it.
build_release() {
    say "building relay (release)"
    # Through a pipe: on a terminal the compiler gets another flag, for colors, and everything would be built again.
    (cd "$root" && swift build -c release --product relay 2>&1 | cat) >&2
    relay="$(cd "$root" && swift build -c release --show-bin-path)/relay"
    [[ -x $relay ]] || die "the build made no $relay"
}

# --- Servers -----------------------------------------------------------------------------------------------------

# Below the ports of the end-to-end tests, which begin at 24000; at a random one, because others may be looking, too.
next_port=$((20000 + RANDOM % 3000))

# Sets `port` to one that nothing uses, TCP or UDP, and that was not handed out before.
free_port() {
    local used
    used="$(ss -Hltun | awk '{ sub(/.*:/, "", $5); print $5 }')"
    while grep -qx "$next_port" <<<"$used"; do next_port=$((next_port + 1)); done
    port=$next_port
    next_port=$((next_port + 1))
}

# How often a server is started with another port, if somebody else takes the free one first.
port_tries=5

# `wait_until SECONDS COMMAND…`: runs the command until it succeeds; fails after the time.
wait_until() {
    local tries=$(($1 * 20))
    shift
    while ! "$@"; do
        ((tries-- > 0)) || return 1
        sleep 0.05
    done
}

listens_tcp() { [[ -n "$(ss -Hltn "sport = :$1")" ]]; }
# UDP lets two listeners have the same port, and gives the packets to one of them.
listens_udp_alone() { [[ "$(ss -Hlun "sport = :$1" | wc -l)" -eq 1 ]]; }

# `start_rtmp_server DIR`: nginx with its RTMP module, application `live`, that records what it gets to DIR as FLV.
# Sets `rtmp_port`, `rtmp_pid` and `rtmp_command`. One process, no daemon, no file outside DIR: the same as root and as
# anyone else.
start_rtmp_server() {
    local home="$1" module nginx try
    nginx="$(PATH="$PATH:/usr/sbin" command -v nginx)" || die "there is no nginx here"
    for module in /usr/lib/nginx/modules /usr/share/nginx/modules /usr/lib64/nginx/modules; do
        module+=/ngx_rtmp_module.so
        [[ -e $module ]] && break
    done
    [[ -e $module ]] || die "nginx has no RTMP module here: install libnginx-mod-rtmp"
    rtmp_command=("$nginx" -p "$home/" -c "$home/nginx.conf")
    # Else it also opens the log that was compiled in. Before 1.19.5 it has no flag, and only complains if it may not.
    [[ "$("$nginx" -h 2>&1)" == *'-e filename'* ]] && rtmp_command+=(-e "$home/nginx.log")
    for ((try = 1; try <= port_tries; try++)); do
        free_port
        rtmp_port=$port
        rm -f "$home/nginx.pid"
        rtmp_configuration "$home" "$module" >"$home/nginx.conf"
        "${rtmp_command[@]}" >"$home/nginx.out" 2>&1 &
        rtmp_pid=$!
        started "$rtmp_pid"
        wait_until 10 rtmp_server_is_decided "$home" || break
        if kill -0 "$rtmp_pid" 2>/dev/null; then return; fi
        grep -qs 'Address already in use' "$home/nginx.out" "$home/nginx.log" || break
    done
    die "nginx did not start: $(cat "$home/nginx.out" "$home/nginx.log")"
}

# Whether nginx listens, or has ended. It writes its pid when it has all its sockets.
rtmp_server_is_decided() {
    ! kill -0 "$rtmp_pid" 2>/dev/null || { [[ -s $1/nginx.pid ]] && listens_tcp "$rtmp_port"; }
}

# Whether nginx still writes a file: until it has seen the end of the stream.
rtmp_server_records() { [[ -n "$(find "/proc/$rtmp_pid/fd" -lname '*.flv' 2>/dev/null)" ]]; }

rtmp_configuration() {
    local home="$1" module="$2"
    cat <<CONFIGURATION
load_module $module;
daemon off;
master_process off;
pid $home/nginx.pid;
error_log $home/nginx.log warn;
events {}
rtmp {
    access_log off;
    server {
        listen 127.0.0.1:$rtmp_port;
        application live {
            live on;
            record all;
            record_path $home;
        }
    }
}
CONFIGURATION
}

# `start_srt_receiver FILE`: a listener that writes the transport stream it gets to FILE. Sets `srt_port`, `srt_pid`.
start_srt_receiver() {
    local try
    for ((try = 1; try <= port_tries; try++)); do
        free_port
        srt_port=$port
        srt-live-transmit -q -a:no "srt://127.0.0.1:$srt_port?mode=listener&latency=200" file://con \
            >"$1" 2>"$1.log" </dev/null &
        srt_pid=$!
        started "$srt_pid"
        wait_until 10 srt_receiver_is_decided || break
        if kill -0 "$srt_pid" 2>/dev/null && listens_udp_alone "$srt_port"; then return; fi
        kill "$srt_pid" 2>/dev/null || true
    done
    die "the SRT receiver did not start: $(cat "$1.log")"
}

# Whether the SRT receiver listens, or has ended.
srt_receiver_is_decided() {
    ! kill -0 "$srt_pid" 2>/dev/null || [[ "$(ss -Hlunp "sport = :$srt_port")" == *"pid=$srt_pid,"* ]]
}
