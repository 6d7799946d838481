#!/bin/sh
# Called by Trunk after every build: gives a release build its service worker, with a list of all files
# and their digests, and tells the page that there is one. A debug build goes without: it would serve
# yesterday's files. By hand: tools/add_service_worker.sh FOLDER, for a folder that has been built.
set -eu

[ $# = 1 ] || [ "$TRUNK_PROFILE" = release ] || exit 0

source=$(cd "$(dirname "$0")/.." && pwd)/service-worker.js
cd "${1:-$TRUNK_STAGING_DIR}"
# The page reads this name; a second run finds it there.
grep -q 'name="service-worker"' index.html ||
    sed 's|<meta charset=[^>]*>|&<meta name="service-worker" content="service-worker.js">|' index.html >index.html.new
[ ! -f index.html.new ] || mv index.html.new index.html
grep -q 'name="service-worker"' index.html || {
    echo "add_service_worker: found no <meta charset> in index.html" >&2
    exit 1
}

# The digest of every file that find names with these conditions.
digests() {
    files=$(find . -type f ! -name service-worker.js "$@" | sed 's|^\./||' | LC_ALL=C sort)
    for file in $files; do sha256sum "$file"; done
}
# One constant of the worker.
constant() {
    echo "const $1 = {"
    printf '%s\n' "$2" | sed 's|^\([0-9a-f]*\)  \(.*\)$|  "\2": "\1",|'
    echo "};"
}
# The exporter stands by itself, as the page is kept without it where it cannot be had.
files=$(digests ! -name 'exporter*')
exporter=$(digests -name 'exporter*')
version=$(printf '%s\n' "$files" "$exporter" | sha256sum | cut -c 1-16)
{
    echo "const version = \"$version\";"
    constant files "$files"
    constant exporter "$exporter"
    # Without its comments, like the other scripts (pack_texts.sh).
    sed '/^ *\/\*\*.*\*\/$/d; /^ *\/\//d; s/^ *//; /^$/d' "$source"
} >service-worker.js
