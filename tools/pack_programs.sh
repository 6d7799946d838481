#!/bin/sh
# Called by Trunk after every build: makes a release build's programs smaller, twice.
#
# First with binaryen's wasm-opt, where it is installed, by 10 kB compressed. Only passes that brotli gains from: the usual -Oz also
# reorders code, which then compresses worse than before. How loads and stores are aligned is a hint that no browser takes.
# Then by putting them in the order that compresses best (pack/src/lib.rs), by a seventh; unpack.js puts them back.
#
# A debug build keeps all as it is. By hand: tools/pack_programs.sh FOLDER.
set -eu

[ $# = 1 ] || [ "$TRUNK_PROFILE" = release ] || exit 0

project=$(cd "$(dirname "$0")/.." && pwd)
cd "${1:-$TRUNK_STAGING_DIR}"

optimize() {
    command -v wasm-opt >/dev/null || {
        echo "pack_programs: wasm-opt is not installed (Debian's package binaryen): the programs stay a little larger" >&2
        return 0
    }
    # What rustc may use in a program for the web.
    features="--enable-bulk-memory --enable-sign-ext --enable-nontrapping-float-to-int --enable-mutable-globals
        --enable-reference-types --enable-multivalue"
    for program in *_bg.wasm; do
        # The options are words without spaces.
        # shellcheck disable=SC2086
        wasm-opt $features --duplicate-function-elimination --vacuum --simplify-locals-nostructure --rse --vacuum \
            --optimize-instructions --vacuum --reorder-locals --duplicate-function-elimination --dealign "$program" -o optimized.wasm
        mv optimized.wasm "$program"
    done
}

optimize
# The packer runs here and now: what is set for the page's own compiling does not concern it.
env -u CARGO_UNSTABLE_BUILD_STD -u CARGO_UNSTABLE_BUILD_STD_FEATURES -u CARGO_UNSTABLE_PANIC_IMMEDIATE_ABORT \
    -u CARGO_PROFILE_PAGE_PANIC -u RUSTC_BOOTSTRAP \
    cargo run --quiet --locked --release --manifest-path "$project/Cargo.toml" --package latchkey-pack -- ./*_bg.wasm
