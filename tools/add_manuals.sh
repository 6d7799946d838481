#!/bin/sh
# Called by Trunk after every build: puts the manuals beside the page, which links to them. As plain files, which every browser shows;
# servers do not say that they are UTF-8, so the first three bytes do.
set -eu

project=$(cd "$(dirname "$0")/.." && pwd)
for manual in SCENARIOS.md REDIS.md DATABASE.md EXPORTS.md; do
    { printf '\357\273\277' && cat "$project/$manual"; } >"$TRUNK_STAGING_DIR/$manual"
done
