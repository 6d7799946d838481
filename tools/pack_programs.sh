#!/bin/sh
# Called by Trunk after every build: makes a release build's programs smaller with binaryen's wasm-opt, where it is installed, by
# 10 kB compressed. Only passes that brotli gains from: the usual -Oz also reorders code, which then compresses worse than before.
# How loads and stores are aligned is a hint that no browser takes.
# A debug build keeps all as it is. By hand: tools/pack_programs.sh FOLDER.
set -eu

[ $# = 1 ] || [ "$TRUNK_PROFILE" = release ] || exit 0

cd "${1:-$TRUNK_STAGING_DIR}"
if ! command -v wasm-opt >/dev/null; then
    echo "pack_programs: wasm-opt is not installed (Debian's package binaryen): the programs stay a little larger" >&2
    exit 0
fi
# What rustc may use in a program for the web.
features="--enable-bulk-memory --enable-sign-ext --enable-nontrapping-float-to-int --enable-mutable-globals
    --enable-reference-types --enable-multivalue"
for program in *_bg.wasm; do
    # The options are words without spaces.
    # shellcheck disable=SC2086
    wasm-opt $features --duplicate-function-elimination --vacuum --simplify-locals-nostructure --rse --vacuum \
        --optimize-instructions --vacuum --reorder-locals --duplicate-function-elimination --dealign "$program" -o packed.wasm
    mv packed.wasm "$program"
done
