#!/usr/bin/env bash
# Looks for input that the core cannot take: tools/fuzz.sh [SECONDS [TARGET...]], by default a minute for each of the targets in
# fuzz/. It begins with the project's own links, scenarios, statements, scripts and commands. What it finds is left in
# fuzz/artifacts/, and becomes a test once it is mended.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=tools/set_up.sh
. tools/set_up.sh

readonly seconds=${1:-60}
targets=("${@:2}")
[ "${#targets[@]}" -gt 0 ] || targets=(link text lua sql commands)

# part FOLDER LINES: what is read from standard input, as files of so many lines.
part() {
    mkdir -p "$1"
    split --lines="$2" - "$1/seed-"
}

seed() {
    local corpus=fuzz/corpus
    mkdir -p "$corpus/link" "$corpus/text"
    cp tests/links/*.link "$corpus/link/"
    find scenarios -name '*.latchkey' -exec cp {} "$corpus/text/" \;
    grep -v '^--' tests/cases/pasted.sql | part "$corpus/sql" 20
    sed -n 's/^> //p' tests/cases/store.txt | part "$corpus/commands" 20
    sed -n 's/^  "script": "\(.*\)",$/\1/p' tests/cases/lua.json | sed 's/\\n/ /g; s/\\"/"/g' | part "$corpus/lua" 1
}

set_up_rust
set_up_fuzz
seed
failed=0
for target in "${targets[@]}"; do
    say "fuzzing $target for $seconds s ..."
    log=$logs/fuzz-$target.log
    # Without a sanitizer it builds with the project's own Rust; the core has no unsafe code for one to watch.
    if cargo fuzz run --sanitizer none "$target" -- -max_total_time="$seconds" -timeout=20 -max_len=4096 -dict="fuzz/words/$target" \
        >"$log" 2>&1; then
        say "$target: nothing found, $(sed -n 's/^Done \([0-9]*\) runs.*/\1 inputs/p' "$log")"
    else
        failed=$((failed + 1))
        say "$target: FAILED; the whole output: $log"
        { grep -aE -A1 'panicked at|ERROR|Error|Test unit written' "$log" || true; } | sed -n 's/^/    | /; 1,20p'
    fi
done
echo "$((${#targets[@]} - failed)) passed, $failed failed"
[ "$failed" = 0 ]
